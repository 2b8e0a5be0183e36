// The smallest peak over all orders is a fact about the memory function alone.
#include <iostream>
#include <limits>

#include "step/memory.h"
#include "step/order_edges.h"
#include "test/step/golden_schedules.h"

namespace podsim {
namespace {

// By the definition: usage while `op` runs after exactly the set `before`.
std::int64_t UsageAfter(const AbstractStep& step, std::uint32_t before,
                        std::uint32_t op) {
  const MemoryModel memory(step);
  const auto in = [&](std::uint32_t member) {
    return (before >> member & 1) != 0;
  };
  std::int64_t usage = step.ops[op].tmp.value();
  for (std::uint32_t k = 0; k < memory.buffers().size(); ++k) {
    const StepBuffer& buffer = memory.buffers()[k];
    bool dead = !buffer.live_out;
    for (const std::uint32_t reader : memory.Readers(k)) dead &= in(reader);
    const bool there = buffer.op == kNoOp || in(buffer.op);
    if (buffer.op == op || (there && !dead)) usage += buffer.bytes.value();
  }
  return usage;
}

// min over orders of max over positions, by sets in increasing number.
std::int64_t MinPeak(const AbstractStep& step) {
  constexpr auto kNever = std::numeric_limits<std::int64_t>::max();
  const auto ops = static_cast<std::uint32_t>(step.ops.size());
  const OrderEdges edges = MakeOrderEdges(step);
  std::vector<std::uint32_t> needs(ops);
  for (std::uint32_t op = 0; op < ops; ++op) {
    for (const std::uint32_t before : edges.before[op]) {
      needs[op] |= 1u << before;
    }
  }
  std::vector<std::int64_t> peak(std::size_t{1} << ops, kNever);
  peak[0] = 0;
  for (std::uint32_t set = 0; set < peak.size(); ++set) {
    if (peak[set] == kNever) continue;
    for (std::uint32_t op = 0; op < ops; ++op) {
      if ((set >> op & 1) != 0 || (needs[op] & ~set) != 0) continue;
      std::int64_t& next = peak[set | 1u << op];
      next = std::min(next, std::max(peak[set], UsageAfter(step, set, op)));
    }
  }
  return peak.back();
}

TEST_CASE("The smallest peak over all orders is the oracle's",
          "[step][golden]") {
  int cases = 0;
  for (const nlohmann::json& test : GoldenSchedules()) {
    if (!test["expect"].contains("min_peak")) continue;
    const AbstractStep step = GoldenStep(test, test["ops"]);
    if (step.ops.size() > 18) continue;
    INFO(test["id"]);
    CHECK(static_cast<double>(MinPeak(step)) ==
          RationalOf(test["expect"]["min_peak"]));
    ++cases;
  }
  std::cout << cases << " smallest peaks compared\n";
}

}  // namespace
}  // namespace podsim
