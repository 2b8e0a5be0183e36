// Steps of ASTRA-sim's files take what their formula says.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/text_file.h"
#include "sim/simulate.h"
#include "workload/astra.h"

namespace podsim {
namespace {

double MakespanOf(const std::string& network, const std::string& system,
                  const std::string& workload) {
  WorkloadRequest request;
  request.slice.spec = network;
  const Workload step = MakeAstraWorkload(
      ParseAstraText(ReadTextFile(workload), workload),
      ReadAstraSystem(JsonValue::ReadFile(system)), request, 1);
  PhaseTimes times;
  return SimulateStep(step, SimOptions(), times).makespan_s.value();
}

// A ring of n with shards of `bytes` / n: n - 1 steps, each a start-up a and a
// shard over one link of rate B.
double RingPhase(int n, double bytes, double a, double rate) {
  return (n - 1) * (a + bytes / n / rate);
}

TEST_CASE("microAllReduce on the 4x8 torus takes its closed form",
          "[sim][astra]") {
  const char* corpus = std::getenv("PODSIM_CORPUS");
  if (corpus == nullptr) {
    WARN("PODSIM_CORPUS is not set: the closed form is not compared");
    return;
  }
  const std::string folder = std::string(corpus) + "/astra/";
  // 8 NPUs share a model: x, a ring of 4, and half of y, a pair. 1 MiB is
  // reduce-scattered along x, its quarter along y, and gathered back: twice
  //   3 (a + S/4/B) + 1 (a + S/4/2/B), together 2 (4 a + 7/8 S/B),
  // with B = 80 x 2^30 bytes/s, a = 1 ns endpoint delay + 1000 ns. Before and
  // after, the one layer computes 4 x 5 ns: forward, both gradients, update.
  const double rate = 80 * 1073741824.0, a = 1001e-9, size = 1048576;
  const double all_reduce =
      2 * (RingPhase(4, size, a, rate) + RingPhase(2, size / 4, a, rate));
  CHECK(all_reduce == Approx(2 * (4 * a + 7.0 / 8 * size / rate)));
  const double found = MakespanOf(folder + "network/tpu_v3_32_2dtorus.yml",
                                  folder + "system/tpu_v3_32_2dtorus.json",
                                  folder + "workload/microAllReduce.txt");
  CHECK(found == Approx(all_reduce + 20e-9).epsilon(1e-9));
}

TEST_CASE("a transformer of our own takes its closed form", "[sim][astra]") {
  const std::string folder = PODSIM_SOURCE_DIR "/workloads/astra/";
  // Groups of 4 are whole rings along x (model) and y (data). A chip sends the
  // two chunks of a step one after the other, so that S takes twice the time of
  // S/2: 2 x 2 x 3 (a + S/2/4/B).
  const double rate = 45 * 1073741824.0, a = 725e-9, mib = 1048576;
  const auto all_reduce = [&](double size) {
    return 2 * 2 * RingPhase(4, size / 2, a, rate);
  };
  // Core: forward 60, 90, gradients twice 90, twice 60, updates 0.5, 0.5 us.
  // attention.fwd.comm, mlp.fwd.comm hold it; mlp.ig.comm and attention.ig.comm
  // travel beside their weight gradients (90 and 60 us); mlp.wg.comm along y
  // beside attention's backward; attention.wg.comm has nothing to hide behind
  // but mlp.update (0.5 us).
  const double seconds = 60e-6 + all_reduce(8 * mib) + 90e-6 +
                         all_reduce(8 * mib) + 90e-6 + all_reduce(8 * mib) +
                         60e-6 + all_reduce(8 * mib) + all_reduce(4 * mib) +
                         0.5e-6;
  const double found =
      MakespanOf(folder + "torus_4x4.yml", folder + "rings.json",
                 folder + "two_layers_transformer.txt");
  CHECK(found == Approx(seconds).epsilon(1e-9));
}

}  // namespace
}  // namespace podsim
