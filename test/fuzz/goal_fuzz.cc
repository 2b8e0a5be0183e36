// libFuzzer entry, run by scripts/fuzz.sh: any text is refused with InputError
// or read as GOAL; what is read is written and read as the same program; and
// the LogGOPS player comes to an end with every program, the same twice.
//
// Modules: base schedule/read_goal.cc schedule/write_goal.cc
// Modules: engine/goal_mailbox.cc engine/loggops.cc
#include <string>

#include "engine/loggops.h"
#include "schedule/goal.h"
#include "test/fuzz/entry.h"

namespace podsim {
namespace {

// A rank has up to 256 CPUs and as many NICs of two sides; "rank 1 {}" names
// one.
constexpr std::size_t kHeapOfUnits = 256 * 3 * sizeof(double);

std::string TextOf(const GoalProgram& program) {
  std::string text;
  WriteGoal(program, [&](const std::string& piece) { text += piece; });
  return text;
}

void CheckPlay(const GoalProgram& program, std::size_t most) {
  const MemoryLimit limit(most + kHeapOfUnits * program.ranks.size());
  const GoalTimeline timeline = RunLoggops(program, {});
  const GoalTimeline again = RunLoggops(program, {});
  CHECK(timeline.finish_ns == again.finish_ns);
  CHECK(timeline.unfinished == again.unfinished);
  CHECK(timeline.unreceived == again.unreceived);
  CHECK(timeline.finish_ns.size() == program.ranks.size());
}

}  // namespace

void Fuzz(std::string_view text) {
  // Also of playing: an op, "calc 1" and its line end, takes 80 bytes to read
  // and more to play.
  const std::size_t most = MostHeap(text);
  GoalProgram program;
  try {
    const MemoryLimit limit(most);
    program = ParseGoal(text, "fuzz.goal");
  } catch (const InputError&) {
    return;
  }
  const std::string written = TextOf(program);
  CHECK(ParseGoal(written, "written.goal") == program) << "round trip of:\n"
                                                       << written;
  CheckPlay(program, most);
}

}  // namespace podsim
