#ifndef PODSIM_TEST_SUPPORT_ISSUE_H_
#define PODSIM_TEST_SUPPORT_ISSUE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "engine/engine.h"
#include "test/support/random_dag.h"

namespace podsim {

// Appends an op of another schedule, at `chip`.
inline void AppendLike(const Schedule& from, OpId op, ChipId chip,
                       std::uint16_t lane, const std::vector<OpId>& after,
                       Schedule& schedule) {
  switch (from.kind(op)) {
    case OpKind::kTransfer:
      schedule.Add({.src = chip,
                    .dst = from.dst(op),
                    .chunks = from.chunks(op),
                    .bytes = from.bytes(op),
                    .mode = from.mode(op),
                    .lane = lane},
                   from.route(op), after);
      break;
    case OpKind::kLocal:
      if (from.mode(op) == Mode::kAccumulate) {
        schedule.AddAccumulate(chip, from.chunks(op), after);
        break;
      }
      schedule.AddLocal(chip, from.chunks(op), from.scratch_of(op),
                        from.duration(op), after);
      break;
    case OpKind::kCompute:
      schedule.AddCompute(chip, from.duration(op), after, from.hbm(op));
  }
}

// A random DAG on some chips, each with some lanes, that issues messages.
inline RandomDag MakeIssuingDag(Random& random, int max_hops) {
  const RandomDag plain = MakeRandomDag(random, max_hops);
  RandomDag dag{.schedule = {}, .network = plain.network};
  const int chips = random.Int(1, 6), lanes = random.Int(1, 3);
  for (std::uint32_t id = 0; id < plain.schedule.size(); ++id) {
    const OpId op(id);
    const auto after = plain.schedule.after(op);
    AppendLike(plain.schedule, op,
               ChipId(static_cast<std::uint32_t>(random.Int(0, chips - 1))),
               static_cast<std::uint16_t>(random.Int(0, lanes - 1)),
               {after.begin(), after.end()}, dag.schedule);
  }
  // Of many ties, too.
  dag.network.issue = random.OneIn(3) ? 1e-6 : random.Decades(-8, -5);
  return dag;
}

// When every op of a timeline should have begun to start up, by the dates when
// others ended: the messages of a chip in the order of (ready date, id), those
// within 1e-12 of each other at once, one every g seconds. No window, no DCN.
inline std::vector<double> IssueDates(const Schedule& schedule,
                                      const Network& network,
                                      const Timeline& timeline) {
  std::vector<std::pair<double, std::uint32_t>> ready;
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    double date = 0;
    for (const OpId wait : schedule.after(OpId(id))) {
      date = std::max(date, timeline.end[wait.value()]);
    }
    ready.emplace_back(date, id);
  }
  std::sort(ready.begin(), ready.end());
  for (std::size_t first = 0, k = 0; k < ready.size(); ++k) {
    if (ready[k].first > ready[first].first * (1 + 1e-12)) first = k;
    ready[k].first = ready[first].first;
  }
  std::sort(ready.begin(), ready.end());
  std::vector<double> dates(schedule.size());
  std::map<std::uint32_t, double> free_at;  // by chip
  for (const auto& [date, id] : ready) {
    dates[id] = date;
    if (schedule.kind(OpId(id)) != OpKind::kTransfer) continue;
    double& free = free_at[schedule.src(OpId(id)).value()];
    free = dates[id] = std::max(date, free) + network.issue;
  }
  return dates;
}

}  // namespace podsim

#endif  // PODSIM_TEST_SUPPORT_ISSUE_H_
