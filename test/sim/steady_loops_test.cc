// Steps whose loops are cut to a few iterations, against all of them.
#include <algorithm>
#include <catch2/catch.hpp>

#include "base/json_reader.h"
#include "sim/simulate.h"
#include "sim/steady_loops.h"
#include "test/support/random_slices.h"
#include "workload/workload.h"

namespace podsim {
namespace {

// Loops of 1 to 40 iterations with computes and collectives, some async, up to
// two levels deep.
class LoopText {
 public:
  explicit LoopText(Random& random) : random_(random) {}

  std::string Make() {
    const std::string slice =
        random_.Pick<std::string>({"ideal:4", "ideal:2x4:mesh", "v5e:4x4",
                                   "ideal:4x4:wrap=x", "ideal:3x3"});
    return R"({"format": "podsim-workload/1", "slice": ")" + slice +
           R"(", "parameters": {"hbm.bandwidth": "800GB/s"}, "ops": [)" +
           List(2) + "]}";
  }

 private:
  std::string List(int depth) {
    std::string text;
    std::string flying;
    const int count = random_.Int(1, 3);
    for (int k = 0; k < count; ++k) {
      if (k > 0) text += ", ";
      text += Op(depth, flying);
    }
    return text;
  }

  std::string Op(int depth, std::string& flying) {
    const std::string id = "op" + std::to_string(next_++);
    const std::string head = R"({"id": ")" + id + "\", ";
    if (depth > 0 && random_.OneIn(2)) {
      return head + R"("repeat": )" + std::to_string(random_.Int(1, 40)) +
             R"(, "ops": [)" + List(depth - 1) + "]}";
    }
    std::string after;
    if (!flying.empty() && random_.OneIn(2)) {
      after = R"(, "after": [")" + flying + "\"]";
      flying.clear();
    }
    if (random_.OneIn(2)) {
      return head + R"("compute": {"duration": ")" +
             std::to_string(random_.Int(1, 90)) + R"(us"})" + after + "}";
    }
    const std::string kind = random_.Pick<std::string>(
        {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"});
    const bool async = random_.OneIn(2);
    if (async) flying = id;
    return head + R"("collective": ")" + kind + R"(", "bytes": ")" +
           std::to_string(random_.Int(1, 200) * 1000) + R"(B", "axes": ["x"])" +
           (async ? R"(, "async": true)" : "") + after + "}";
  }

  Random& random_;
  int next_ = 0;
};

void CheckSame(double a, double b, double makespan) {
  CHECK(std::abs(a - b) <= 1e-9 * makespan);
}

TEST_CASE("a few iterations of a steady loop stand for all of them",
          "[sim][property]") {
  int longer = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const std::string text = LoopText(random).Make();
    CAPTURE(seed, text);
    const Workload workload =
        ReadWorkload(JsonValue::ParseText(text, "w.json"), {});
    longer += HasLongerLoop(workload.graph.items, 4) ? 1 : 0;
    SimOptions options;
    options.fold = random.OneIn(2) ? FoldMode::kOff : FoldMode::kAuto;
    PhaseTimes times;
    RunRecord record;  // with it every iteration is simulated
    const StepResult whole = SimulateStep(workload, options, times, &record);
    const StepResult cut = SimulateStep(workload, options, times);
    const double makespan = *whole.makespan_s;
    CHECK(makespan == record.timeline.makespan);
    CheckSame(*cut.makespan_s, makespan, makespan);
    CheckSame(*cut.compute_s, *whole.compute_s, makespan);
    CheckSame(*cut.interference_s, *whole.interference_s, makespan);
    CheckSame(*cut.exposed_communication_s, *whole.exposed_communication_s,
              makespan);
    CheckSame(*cut.idle_s, *whole.idle_s, makespan);
    CheckSame(*cut.overlapped_communication_s,
              *whole.overlapped_communication_s, makespan);
    CHECK(cut.transfers == whole.transfers);
    REQUIRE(cut.collectives.size() == whole.collectives.size());
    for (std::size_t k = 0; k < cut.collectives.size(); ++k) {
      CheckSame(*cut.collectives[k].flight_s, *whole.collectives[k].flight_s,
                makespan);
      CheckSame(*cut.collectives[k].exposed_s, *whole.collectives[k].exposed_s,
                makespan);
    }
    double path = 0;
    for (const PathEntry& entry : cut.critical_path) path += entry.seconds;
    CheckSame(path, makespan, makespan);
  }
  CHECK(longer > 200);
}

TEST_CASE("a loop without end in sight takes its iterations times one",
          "[sim][formula]") {
  const Workload workload = ReadWorkload(
      JsonValue::ParseText(
          R"({"format": "podsim-workload/1", "slice": "ideal:4", "ops": [
          {"id": "a", "compute": {"duration": "7us"}},
          {"id": "l", "repeat": 1000000, "ops": [
            {"id": "b", "compute": {"duration": "3us"}},
            {"id": "m", "repeat": 1000, "ops": [
              {"id": "c", "compute": {"duration": "2us"}}]}]}]})",
          "w.json"),
      {});
  PhaseTimes times;
  const StepResult step = SimulateStep(workload, SimOptions{}, times);
  CHECK(*step.makespan_s ==
        Approx(7e-6 + 1e6 * (3e-6 + 1000 * 2e-6)).epsilon(1e-12));
  REQUIRE(step.critical_path.size() == 3);
  CHECK(step.critical_path[2].seconds == Approx(1e6 * 2e-3).epsilon(1e-12));
}

}  // namespace
}  // namespace podsim
