// libFuzzer entry, run by scripts/fuzz.sh: any text is refused with InputError
// or read as GOAL; what is read is written and read as the same program; and
// the LogGOPS player comes to an end with every program, the same twice.
//
// Modules: base schedule/read_goal.cc schedule/write_goal.cc
// Modules: engine/goal_mailbox.cc engine/loggops.cc
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "engine/loggops.h"
#include "schedule/goal.h"
#include "test/fuzz/memory.h"

namespace podsim {
namespace {

// Reading a text, or playing its program, takes at most so many times its bytes
// of heap; 64 KiB more for short ones. An op, "calc 1" and its line end, takes
// 80 bytes to read and more to play.
constexpr std::size_t kHeapPerByte = 100;
constexpr std::size_t kHeapOfShort = std::size_t{64} << 10;
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

void Fuzz(std::string_view text) {
  const std::size_t most = kHeapPerByte * text.size() + kHeapOfShort;
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

}  // namespace
}  // namespace podsim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  podsim::Fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
