// Golden texts of the command line: test/golden/NAME.cmd holds the arguments,
// NAME.out what they print, NAME.status the exit status. A difference is
// reviewed, then taken over with scripts/update_goldens.sh.
#include <algorithm>
#include <catch2/catch.hpp>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

TEST_CASE("the command line prints what its golden files say",
          "[cli][golden]") {
  const std::filesystem::path folder =
      std::filesystem::path(PODSIM_SOURCE_DIR) / "test/golden";
  std::vector<std::filesystem::path> commands;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".cmd") commands.push_back(entry.path());
  }
  REQUIRE(commands.size() >= 12);
  std::sort(commands.begin(), commands.end());
  for (std::filesystem::path file : commands) {
    const std::string command = ReadFile(file);
    CAPTURE(file.filename().string(), command);
    const Outcome outcome = Podsim(Words(command));
    CHECK(outcome.out == ReadFile(file.replace_extension(".out")));
    CHECK(std::to_string(outcome.status) + "\n" ==
          ReadFile(file.replace_extension(".status")));
  }
}

}  // namespace
}  // namespace podsim
