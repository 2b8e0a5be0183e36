#ifndef PODSIM_TEST_CLI_PODSIM_PROCESS_H_
#define PODSIM_TEST_CLI_PODSIM_PROCESS_H_

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace podsim {

// What a run of the real binary left behind.
struct Outcome {
  int status = 0;  // exit status; minus the signal that ended it
  std::string out;
  std::string err;
};

// Runs podsim in `folder` (default: the root of the repository, where
// workloads/ and topologies/ are), without input.
Outcome Podsim(const std::vector<std::string>& args,
               const std::filesystem::path& folder = PODSIM_SOURCE_DIR);

// The words of a command line: separated by spaces, "..." is one word.
std::vector<std::string> Words(const std::string& line);

// The JSON that a run prints: it must end well, without a word on stderr.
nlohmann::ordered_json PodsimJson(
    const std::vector<std::string>& args,
    const std::filesystem::path& folder = PODSIM_SOURCE_DIR);

// A fresh folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }
  void Write(const std::string& name, const std::string& text) const;
  std::string Read(const std::string& name) const;
  // Names in it, sorted.
  std::vector<std::string> List() const;

 private:
  std::filesystem::path path_;
};

// The whole file; fails the test if it cannot be read.
std::string ReadFile(const std::filesystem::path& path);

}  // namespace podsim

#endif  // PODSIM_TEST_CLI_PODSIM_PROCESS_H_
