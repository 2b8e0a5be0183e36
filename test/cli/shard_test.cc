// Parts of sweeps through the command line: shards, merging, filters, resuming.
#include <algorithm>
#include <catch2/catch.hpp>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

using Catch::Matchers::Contains;

// 36 points, 24 of them distinct, a third of those refused; the errors have
// commas.
const std::string kPoints = R"({"format": "podsim-sweep/1",
    "collective": ["all-gather", "all-reduce"],
    "slice": ["ideal:4", "ideal:2x4", "ideal:4"], "bytes": ["1MB", "4MB"],
    "lowering": ["ring", "bucket", "auto"]})";

constexpr int kShards = 3;

// Runs all shards, and returns their names.
std::vector<std::string> WriteShards(const TemporaryFolder& folder,
                                     const std::string& suffix) {
  std::vector<std::string> names;
  for (int k = 1; k <= kShards; ++k) {
    names.push_back("part" + std::to_string(k) + suffix);
    const Outcome outcome =
        Podsim({"sweep", "s.json", "-o", names.back(), "--shard",
                std::to_string(k) + "/" + std::to_string(kShards)},
               folder.path());
    CHECK(outcome.status <= 1);
  }
  return names;
}

Outcome Merge(const TemporaryFolder& folder,
              const std::vector<std::string>& names) {
  std::vector<std::string> command = {"merge"};
  command.insert(command.end(), names.begin(), names.end());
  return Podsim(command, folder.path());
}

TEST_CASE("merged shards are the sweep, byte for byte", "[cli]") {
  const std::string suffix = GENERATE(".csv", ".json");
  const TemporaryFolder folder;
  folder.Write("s.json", kPoints);
  Podsim({"sweep", "s.json", "-o", "whole" + suffix}, folder.path());
  std::vector<std::string> names = WriteShards(folder, suffix);
  // In any order.
  std::rotate(names.begin(), names.begin() + 1, names.end());
  const Outcome merged = Merge(folder, names);
  CHECK(merged.status == 0);
  CHECK(merged.err == "");
  CHECK(merged.out == folder.Read("whole" + suffix));

  SECTION("a shard that is missing, double or foreign is named") {
    // Distinct points 0, 3, 6, .. are of shard 1, and points 12 to 17 are 0 to
    // 5 again.
    CHECK_THAT(Merge(folder, {names[0], names[1]}).err,
               Contains("12 of 36 points are missing: places 0, 3, 6, 9, 12"));
    CHECK(Merge(folder, {names[0], names[1]}).status == 2);
    CHECK_THAT(Merge(folder, {names[0], names[1], names[0]}).err,
               Contains(", which stands in " + names[0] + " too"));
    std::string other = kPoints;
    folder.Write("s.json", other.replace(other.find("4MB"), 3, "8MB"));
    const Outcome run = Podsim(
        {"sweep", "s.json", "-o", names[2], "--shard", "1/3"}, folder.path());
    CHECK(run.status <= 1);
    CHECK_THAT(Merge(folder, names).err,
               Contains(names[2] + ": is of another sweep"));
    CHECK_THAT(Merge(folder, {"whole" + suffix}).err,
               Contains("whole" + suffix + ":1: expected \""));
  }
  SECTION("a torn shard is never taken for a whole one") {
    const std::string whole = folder.Read(names[0]);
    for (std::size_t length = 0; length < whole.size();
         length += whole.size() / 13) {
      folder.Write(names[0], whole.substr(0, length));
      const Outcome torn = Merge(folder, names);
      CHECK(torn.status == 2);
      CHECK(torn.out == "");
    }
  }
}

TEST_CASE("the parts of a sweep that can be asked for", "[cli]") {
  const TemporaryFolder folder;
  folder.Write("s.json", kPoints);
  const auto rows = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"sweep", "s.json"});
    const Outcome outcome = Podsim(flags, folder.path());
    CHECK(outcome.status <= 1);
    return std::count(outcome.out.begin(), outcome.out.end(), '\n') - 1;
  };
  CHECK(rows({}) == 36);
  CHECK(rows({"--only", "all-reduce"}) == 18);
  CHECK(rows({"--only", "slice=ideal:4", "--only", "bytes=1*"}) == 12);
  CHECK(rows({"--only", "all-reduce", "--except", "lowering=[rb]*"}) == 6);
  CHECK(rows({"--only", "lowering=auto", "--shard", "1/2"}) +
            rows({"--only", "lowering=auto", "--shard", "2/2"}) ==
        12);
  // More shards than points.
  CHECK(rows({"--shard", "1000/1000"}) == 0);
}

TEST_CASE("bad parts of a sweep are refused", "[cli]") {
  const TemporaryFolder folder;
  folder.Write("s.json", kPoints);
  const auto refusal = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"sweep", "s.json"});
    const Outcome outcome = Podsim(flags, folder.path());
    CHECK(outcome.status == 2);
    CHECK(outcome.out == "");
    return outcome.err;
  };
  CHECK(refusal({"--shard", "2"}) ==
        "podsim: error: --shard: expected K/N, for example 2/8, got \"2\"\n");
  CHECK_THAT(refusal({"--shard", "4/3"}), Contains("--shard 4/3: K"));
  CHECK_THAT(refusal({"--shard", "0/3"}), Contains("--shard 0/3: K"));
  CHECK_THAT(refusal({"--shard", "1/0"}), Contains("--shard 1/0: N"));
  CHECK(refusal({"--only", "tree"}) ==
        "podsim: error: --only tree: matches no word of any of the 36 points; "
        "the first is \"all-gather slice=ideal:4 bytes=1000000 "
        "lowering=ring\"\n");
  CHECK_THAT(refusal({"--except", "slice=*"}), Contains("no point matches"));
  CHECK_THAT(refusal({"--resume"}), Contains("needs -o FILE"));
}

TEST_CASE("a sweep goes on from its journal", "[cli]") {
  const TemporaryFolder folder;
  folder.Write("s.json", kPoints);
  Podsim({"sweep", "s.json", "-o", "whole.csv"}, folder.path());
  const auto resumed = [&] {
    return Podsim(
        {"sweep", "s.json", "-o", "r.csv", "--resume", "--progress", "on"},
        folder.path());
  };
  // Without a journal it begins at the beginning: 24 distinct points.
  CHECK_THAT(resumed().err, Contains("\rpodsim: 0 of 24 points"));
  CHECK(folder.Read("r.csv") == folder.Read("whole.csv"));
  CHECK(folder.List() ==
        std::vector<std::string>{"r.csv", "s.json", "whole.csv"});

  // A journal that cannot be written is an error before the work.
  std::filesystem::remove(folder.path() / "r.csv");
  std::filesystem::create_directory(folder.path() / "r.csv.journal");
  CHECK(Podsim({"sweep", "s.json", "-o", "r.csv"}, folder.path()).status == 2);
}

}  // namespace
}  // namespace podsim
