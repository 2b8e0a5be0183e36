#ifndef PODSIM_TEST_SUPPORT_RANDOM_DAG_H_
#define PODSIM_TEST_SUPPORT_RANDOM_DAG_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/engine.h"
#include "test/support/random_slices.h"

namespace podsim {

// Appends ops by what an engine sees of them: links, bytes and dependences.
class DagBuilder {
 public:
  OpId Send(const std::vector<std::uint32_t>& links, std::int64_t bytes,
            const std::vector<OpId>& after = {}) {
    std::vector<LinkId> route;
    for (const std::uint32_t link : links) route.emplace_back(link);
    return schedule_.Add({.src = ChipId(0),
                          .dst = ChipId(1),
                          .chunks = {PatternId(0), ChipId(0)},
                          .bytes = Bytes(bytes)},
                         route, after);
  }
  OpId Compute(double seconds, const std::vector<OpId>& after = {}) {
    return schedule_.AddCompute(ChipId(0), Seconds(seconds), after);
  }
  OpId Local(OpId scratch_of, double seconds,
             const std::vector<OpId>& after = {}) {
    return schedule_.AddLocal(ChipId(0), {PatternId(0), ChipId(0)}, scratch_of,
                              Seconds(seconds), after);
  }
  const Schedule& schedule() const { return schedule_; }

 private:
  Schedule schedule_;
};

struct RandomDag {
  Schedule schedule;
  Network network;
};

// Any DAG of transfers, computes and local adds. Some seeds have many ties (few
// distinct sizes, no latencies), some sizes over nine decades, some links of
// their own rate and latency, some routes that name a link twice.
inline RandomDag MakeRandomDag(Random& random, int max_hops) {
  RandomDag dag;
  Network& network = dag.network;
  network.links = static_cast<std::uint32_t>(random.Int(1, 12));
  network.bandwidth = random.OneIn(2) ? 1e9 : random.Decades(6, 11);
  const bool ties = random.OneIn(3);
  network.hop_latency = random.OneIn(3) ? 0 : random.Decades(-9, -5);
  network.message_overhead = random.OneIn(2) ? 0 : random.Decades(-9, -5);
  if (ties) {
    network.bandwidth = 1e9;
    network.hop_latency = random.OneIn(2) ? 0 : 1e-6;
    network.message_overhead = 0;
  }
  if (random.OneIn(4)) {
    for (std::uint32_t k = 0; k < network.links; ++k) {
      network.link_bandwidth.push_back(ties ? 5e8 * random.Int(1, 3)
                                            : random.Decades(6, 11));
    }
  }
  if (random.OneIn(4)) {
    for (std::uint32_t k = 0; k < network.links; ++k) {
      network.link_latency.push_back(ties ? 5e-7 * random.Int(0, 3)
                                          : random.Decades(-9, -5));
    }
  }
  const bool decades = random.OneIn(2);
  const double compute = random.Decades(-7, -4);
  const int most_waits = random.Int(0, 4);
  const int ops = random.Int(1, 60);
  DagBuilder builder;
  std::vector<OpId> transfers;
  for (int id = 0; id < ops; ++id) {
    std::vector<OpId> after;
    for (int k = random.Int(0, most_waits); id > 0 && k > 0; --k) {
      // Mostly recent ops, so that there are long chains too.
      const int back =
          random.OneIn(2) ? random.Int(1, std::min(id, 4)) : random.Int(1, id);
      after.emplace_back(static_cast<std::uint32_t>(id - back));
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    const double duration =
        ties ? 1e-6 * random.Int(0, 2) : compute * random.Unit();
    const int what = random.Int(0, 9);
    if (what == 0) {
      builder.Compute(duration, after);
    } else if (what == 1 && !transfers.empty()) {
      builder.Local(random.Pick(transfers), duration, after);
    } else {
      std::vector<std::uint32_t> links;
      for (int hops = random.Int(1, max_hops); hops > 0; --hops) {
        links.push_back(static_cast<std::uint32_t>(
            random.Int(0, static_cast<int>(network.links) - 1)));
      }
      std::int64_t bytes = 1000 * random.Int(1, 3);
      if (!ties) {
        bytes = decades ? static_cast<std::int64_t>(random.Decades(0, 9))
                        : random.Between(0, 100'000);
      }
      transfers.push_back(builder.Send(links, bytes, after));
    }
  }
  dag.schedule = builder.schedule();
  return dag;
}

}  // namespace podsim

#endif  // PODSIM_TEST_SUPPORT_RANDOM_DAG_H_
