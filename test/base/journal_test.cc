// Journals: what was appended comes back, whatever happened to the tail.
#include "base/journal.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/checksum.h"
#include "base/error.h"
#include "base/text_file.h"

namespace podsim {
namespace {

using Catch::Matchers::Contains;

// A path that is free, and removed at the end.
class FreePath {
 public:
  FreePath()
      : path_(std::filesystem::temp_directory_path() /
              ("podsim-journal-" + std::to_string(getpid()))) {
    std::filesystem::remove(path_);
  }
  ~FreePath() { std::filesystem::remove(path_); }
  FreePath(const FreePath&) = delete;
  FreePath& operator=(const FreePath&) = delete;
  std::string text() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// With everything that the format must escape.
const std::vector<Journal::Record> kRecords = {
    {.key = "all-reduce bytes=1", .text = std::string("a\0b\nc\td\\n", 9)},
    {.key = "k\tk", .text = ""},
    {.key = "", .text = "\\"}};

void WriteJournal(const std::string& path) {
  Journal journal(path, "rows=csv", Journal::Mode::kNew);
  for (const Journal::Record& record : kRecords) journal.Append(record);
}

void CheckIsPrefix(const Journal& journal) {
  REQUIRE(journal.records().size() <= kRecords.size());
  for (std::size_t k = 0; k < journal.records().size(); ++k) {
    CHECK(journal.records()[k].key == kRecords[k].key);
    CHECK(journal.records()[k].text == kRecords[k].text);
  }
}

TEST_CASE("FNV-1a has the values of its definition", "[base]") {
  // draft-eastlake-fnv, appendix C, 64 bits.
  CHECK(Fnv1a("") == 0xcbf29ce484222325ULL);
  CHECK(Fnv1a("a") == 0xaf63dc4c8601ec8cULL);
  CHECK(Fnv1a("foobar") == 0x85944171f73967e8ULL);
  CHECK(Hex(0xaf63dc4c8601ec8cULL) == "af63dc4c8601ec8c");
  CHECK(Hex(0x1fULL) == "000000000000001f");
}

TEST_CASE("a journal gives back what was appended", "[base]") {
  const FreePath path;
  WriteJournal(path.text());
  {
    Journal journal(path.text(), "rows=csv", Journal::Mode::kResume);
    REQUIRE(journal.records().size() == kRecords.size());
    CheckIsPrefix(journal);
    CHECK(journal.dropped() == 0);
    journal.Remove();
  }
  CHECK_FALSE(std::filesystem::exists(path.text()));
}

TEST_CASE("a journal cut at any byte keeps its whole lines", "[base]") {
  const FreePath path;
  WriteJournal(path.text());
  const std::string whole = ReadTextFile(path.text());
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    WriteText(path.text(), whole.substr(0, length));
    const auto lines = static_cast<std::size_t>(std::count(
        whole.begin(), whole.begin() + std::ptrdiff_t(length), '\n'));
    {
      Journal journal(path.text(), "rows=csv", Journal::Mode::kResume);
      CHECK(journal.records().size() == (lines == 0 ? 0 : lines - 1));
      CheckIsPrefix(journal);
      const bool torn = length > 0 && whole[length - 1] != '\n';
      CHECK(journal.dropped() == (torn ? 1 : 0));
      for (std::size_t k = journal.records().size(); k < kRecords.size(); ++k) {
        journal.Append(kRecords[k]);
      }
    }
    CHECK(ReadTextFile(path.text()) == whole);
  }
}

TEST_CASE("a damaged line of a journal is dropped, the others stay", "[base]") {
  const FreePath path;
  WriteJournal(path.text());
  const std::string whole = ReadTextFile(path.text());
  for (std::size_t k = whole.find('\n') + 1; k < whole.size(); ++k) {
    if (whole[k] == '\n') continue;
    std::string damaged = whole;
    damaged[k] ^= 1;
    if (damaged[k] == '\n') continue;
    WriteText(path.text(), damaged);
    const Journal journal(path.text(), "rows=csv", Journal::Mode::kResume);
    CHECK(journal.records().size() == kRecords.size() - 1);
    CHECK(journal.dropped() == 1);
  }
}

TEST_CASE("a journal is refused where its records would not fit", "[base]") {
  const FreePath path;
  WriteJournal(path.text());
  CHECK_THROWS_WITH(
      Journal(path.text(), "rows=csv", Journal::Mode::kNew),
      path.text() +
          ": holds the finished points of an interrupted run; add "
          "--resume to continue it, or remove the file to begin "
          "again");
  CHECK_THROWS_WITH(
      Journal(path.text(), "rows=json", Journal::Mode::kResume),
      Contains(":1: is of another build of podsim or of other output "
               "flags; expected \"podsim-journal/1 program=") &&
          Contains(" rows=csv\"; use those of then, or remove"));
  CHECK_THROWS_WITH(Journal("/nowhere/j", "rows=csv", Journal::Mode::kResume),
                    "/nowhere/j: cannot be written: No such file or directory");
}

TEST_CASE("a journal that another process has open is refused", "[base]") {
  const FreePath path;
  const Journal journal(path.text(), "rows=csv", Journal::Mode::kNew);
  const pid_t child = fork();
  if (child == 0) {
    try {
      const Journal other(path.text(), "rows=csv", Journal::Mode::kResume);
      _exit(1);
    } catch (const InputError& error) {
      _exit(std::string(error.what()).find("in use by another process") ==
                    std::string::npos
                ? 2
                : 0);
    }
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("a line that cannot be written whole is an error", "[base]") {
  const FreePath path;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  Journal journal(path.text(), "rows=csv", Journal::Mode::kNew);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit few = before;
  few.rlim_cur = 1000;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &few) == 0);
  std::string error;
  try {
    journal.Append({.key = "k", .text = std::string(2000, 'x')});
  } catch (const InputError& refusal) {
    error = refusal.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  CHECK(error == path.text() + ": cannot be written: File too large");
}

}  // namespace
}  // namespace podsim
