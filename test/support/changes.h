#ifndef PODSIM_TEST_SUPPORT_CHANGES_H_
#define PODSIM_TEST_SUPPORT_CHANGES_H_

#include <algorithm>
#include <string>

#include "test/support/random_dag.h"

namespace podsim {

// The number of a new one.
inline std::uint32_t AddFault(DatedFaults& changes, double date, bool is_chip) {
  const auto fault = static_cast<std::uint32_t>(changes.faults.size());
  changes.faults.push_back({.text = "fault " + std::to_string(fault),
                            .where = "here",
                            .date = date,
                            .is_chip = is_chip});
  return fault;
}

// Dated faults one by one, as MakeNetwork would sort them.
inline void AddChange(Network& network, double date, std::uint32_t link,
                      double factor) {
  DatedFaults& changes = network.changes;
  const std::uint32_t fault = AddFault(changes, date, /*is_chip=*/false);
  changes.links.push_back(
      {.date = date, .link = LinkId(link), .factor = factor, .fault = fault});
  std::stable_sort(
      changes.links.begin(), changes.links.end(),
      [](const auto& a, const auto& b) { return a.date < b.date; });
}

inline void AddDeath(Network& network, double date, ChipId chip) {
  DatedFaults& changes = network.changes;
  const std::uint32_t fault = AddFault(changes, date, /*is_chip=*/true);
  changes.chips.push_back({.date = date, .chip = chip, .fault = fault});
}

// A few within the time that the DAG takes: slow, slower, faster again (unless
// `only_slower`), dead; sometimes the chip of all computes dies.
inline void AddRandomChanges(Random& random, double makespan, bool only_slower,
                             Network& network) {
  std::vector<double> factors(network.links, 1);
  std::vector<double> dates;
  for (int k = random.Int(1, 8); k > 0; --k) {
    dates.push_back(1.2 * makespan * random.Unit());
  }
  std::sort(dates.begin(), dates.end());
  for (const double date : dates) {
    const auto link = static_cast<std::uint32_t>(
        random.Int(0, static_cast<int>(network.links) - 1));
    double& factor = factors[link];
    if (factor == 0) continue;
    const double most = only_slower ? factor : 1.0;
    factor = random.OneIn(4) ? 0 : most * (0.05 + 0.95 * random.Unit());
    AddChange(network, date, link, factor);
  }
  if (random.OneIn(8)) {
    AddDeath(network, makespan * random.Unit(), ChipId(0));
  }
}

}  // namespace podsim

#endif  // PODSIM_TEST_SUPPORT_CHANGES_H_
