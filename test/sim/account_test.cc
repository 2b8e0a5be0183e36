// The accounts of random steps with async collectives, chip by chip.
#include "sim/account.h"

#include <catch2/catch.hpp>

#include "base/json_reader.h"
#include "sim/simulate.h"
#include "test/support/random_slices.h"
#include "workload/workload.h"

namespace podsim {
namespace {

// A random workload as a file: nested loops, sync and async collectives over
// any axes, lists of chips and pairs, computes with and without memory traffic.
class WorkloadText {
 public:
  explicit WorkloadText(Random& random) : random_(random) {}

  std::string Make() {
    shape_ = RandomShape(random_, 2, 16);
    std::string wraps;
    for (std::size_t a = 0; a < shape_.size(); ++a) {
      if (shape_[a] > 1 && random_.OneIn(2)) wraps += "xyz"[a];
    }
    return R"({"format": "podsim-workload/1", "slice": "ideal:)" +
           ToText(shape_) + (wraps.empty() ? ":mesh" : ":wrap=" + wraps) +
           R"(", "parameters": {"ici.hop_latency": ")" +
           std::to_string(random_.Int(0, 3)) +
           R"(us", "collective.launch": ")" +
           std::to_string(random_.OneIn(2) ? 0 : random_.Int(1, 5)) +
           R"(us", "hbm.bandwidth": ")" +
           std::to_string(random_.Int(1, 40) * 50) + R"(GB/s"}, "ops": [)" +
           List(random_.Int(1, 6), /*depth=*/0, {}) + "]}";
  }

 private:
  std::string List(int ops, int depth, std::vector<std::string> visible) {
    std::string text;
    for (int k = 0; k < ops; ++k) {
      if (!text.empty()) text += ", ";
      const std::string id = "op" + std::to_string(next_++);
      text += R"({"id": ")" + id + "\", " + After(visible);
      if (depth < 2 && random_.OneIn(6)) {
        text += "\"repeat\": " + std::to_string(random_.Int(1, 3)) +
                ", \"ops\": [" + List(random_.Int(1, 3), depth + 1, visible) +
                "]}";
      } else if (random_.OneIn(2)) {
        text += Compute() + "}";
      } else {
        text += Collective() + "}";
      }
      visible.push_back(id);
    }
    return text;
  }

  std::string After(const std::vector<std::string>& visible) {
    if (visible.empty() || !random_.OneIn(3)) return "";
    return R"("after": [")" + random_.Pick(visible) + R"("], )";
  }

  std::string Compute() {
    if (random_.OneIn(2)) {
      return R"("compute": {"duration": ")" +
             std::to_string(random_.Int(0, 40)) + R"(us"})";
    }
    return R"("compute": {"hbm": ")" + std::to_string(random_.Int(0, 9000)) +
           R"(kB"})";
  }

  std::string Collective() {
    std::string text =
        R"("bytes": ")" + std::to_string(random_.Int(0, 4000)) + "kB\"";
    if (random_.OneIn(2)) text += R"(, "async": true)";
    std::size_t axis = 0;
    for (std::size_t a = 0; a < shape_.size(); ++a) {
      if (shape_[a] > shape_[axis]) axis = a;
    }
    const std::string name(1, "xyz"[axis]);
    if (random_.OneIn(6)) {
      return R"("collective": "collective-permute", "shift": {"axis": ")" +
             name + R"(", "by": 1}, )" + text;
    }
    if (random_.OneIn(6)) {
      return R"("collective": "all-reduce", "groups": [[1, 0]], )" + text;
    }
    if (random_.OneIn(2)) text += R"(, "axes": [")" + name + R"("])";
    return R"("collective": ")" +
           random_.Pick({std::string("all-reduce"), std::string("all-gather"),
                         std::string("reduce-scatter"),
                         std::string("broadcast")}) +
           "\", " + text;
  }

  Random& random_;
  Shape shape_;
  int next_ = 0;
};

TEST_CASE(
    "compute, interference, exposed and idle make up the makespan on "
    "every chip",
    "[sim][property]") {
  double interference = 0, exposed = 0, idle = 0, overlapped = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const std::string text = WorkloadText(random).Make();
    CAPTURE(seed, text);
    const Workload workload =
        ReadWorkload(JsonValue::ParseText(text, "w.json"), {});
    PhaseTimes times;
    RunRecord record;
    SimOptions options;
    options.fold = random.OneIn(2) ? FoldMode::kOff : FoldMode::kAuto;
    const StepResult step = SimulateStep(workload, options, times, &record);
    const CompiledStep compiled{record.schedule, record.executions};
    const FoldedGrid grid(
        workload.slice.topology,
        record.fold.value_or(NoFold(workload.slice.topology)));
    std::vector<std::uint32_t> all;
    for (std::uint32_t site = 0; site < grid.sites(); ++site) {
      all.push_back(site);
    }
    const PeersOf everybody = [&](std::uint32_t, std::uint32_t) { return all; };
    for (const std::uint32_t site : all) {
      const CoreAccount account = AccountCore(workload.graph, compiled,
                                              record.timeline, everybody, site);
      const double sum = account.compute_s + account.interference_s +
                         account.exposed_s + account.idle_s;
      REQUIRE(Near(sum, record.timeline.makespan, 1e-12));
      for (const double part :
           {account.compute_s, account.interference_s, account.exposed_s,
            account.idle_s, account.overlapped_s}) {
        REQUIRE(part >= -1e-12 * record.timeline.makespan);
      }
    }
    REQUIRE(Near(*step.compute_s + *step.interference_s +
                     *step.exposed_communication_s + *step.idle_s,
                 *step.makespan_s, 1e-12));
    REQUIRE(*step.makespan_s >= step.lower_bound_s * (1 - 1e-9) - 1e-6);
    interference += *step.interference_s;
    exposed += *step.exposed_communication_s;
    idle += *step.idle_s;
    overlapped += *step.overlapped_communication_s;
  }
  // All of them occur.
  CHECK(interference > 0);
  CHECK(exposed > 0);
  CHECK(idle > 0);
  CHECK(overlapped > 0);
}

}  // namespace
}  // namespace podsim
