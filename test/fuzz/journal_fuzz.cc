// libFuzzer entry, run by scripts/fuzz.sh: any file beside a sweep is a
// journal, damaged or not, or refused; what is added to it is there the next
// time.
//
// Modules: base
#include "base/journal.h"
#include "test/fuzz/entry.h"

namespace podsim {
namespace {

// A head that this program wrote, and behind it the bytes.
std::string HeadOf(const std::string& path) {
  unlink(path.c_str());
  { const Journal journal(path, "rows=csv", Journal::Mode::kNew); }
  std::ifstream file(path, std::ios::binary);
  std::string head;
  std::getline(file, head);
  return head + "\n";
}

}  // namespace

void Fuzz(std::string_view text) {
  static const std::string head = [] {
    const FuzzFile file("", ".head");
    return HeadOf(file.path());
  }();
  for (const bool ours : {false, true}) {
    const FuzzFile file(ours ? head + std::string(text) : std::string(text),
                        ".journal");
    AnswersOrRefuses([&] {
      std::size_t before = 0;
      std::size_t damaged = 0;  // lines: they stay, and are told of again
      {
        Journal journal(file.path(), "rows=csv", Journal::Mode::kResume);
        before = journal.records().size();
        damaged = journal.dropped();
        CHECK(before <= text.size());
        journal.Append({.key = "key", .text = std::string(text)});
      }
      const Journal again(file.path(), "rows=csv", Journal::Mode::kResume);
      CHECK(again.records().size() == before + 1);
      CHECK(again.records().back().text == text);
      CHECK(again.dropped() <= damaged);
    });
  }
}

}  // namespace podsim
