#include "topology/distance.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <deque>

#include "base/error.h"
#include "base/text.h"

namespace podsim {
namespace {

constexpr std::size_t kNamedChips = 10;  // in the message of a disconnection

int FarthestOnAxis(const GridAxis& axis) {
  return axis.wrap ? axis.size / 2 : axis.size - 1;
}

DistanceSummary ClosedForm(const Topology& topology,
                           const std::vector<int>& axes) {
  double members = 1;
  for (const int a : axes) members *= topology.axes()[a].size;
  DistanceSummary summary;
  double sum = 0;  // per ordered pair of one group, times members^2
  for (const int a : axes) {
    const double n = topology.axes()[a].size;
    summary.diameter += FarthestOnAxis(topology.axes()[a]);
    sum += SumOfHops(topology.axes()[a]) * (members / n) * (members / n);
  }
  if (members > 1) summary.mean_hops = sum / (members * (members - 1));
  return summary;
}

std::vector<int> AxisGroups(const Topology& topology,
                            const std::vector<int>& axes) {
  std::vector<int> group(topology.chips());
  for (int chip = 0; chip < topology.chips(); ++chip) {
    Coordinates at = topology.CoordinatesOf(ChipId(chip));
    for (const int a : axes) at[a] = 0;
    group[chip] = static_cast<int>(topology.ChipAt(at).value());
  }
  return group;
}

std::vector<int> AllIciAxes(const Topology& topology) {
  std::vector<int> axes;
  for (int a = 0; a < topology.ici_axes(); ++a) axes.push_back(a);
  return axes;
}

// All chips of a slice, live ones only.
std::vector<int> SliceGroups(const Topology& topology) {
  std::vector<int> group = topology.is_grid()
                               ? AxisGroups(topology, AllIciAxes(topology))
                               : std::vector<int>(topology.chips(), 0);
  for (int chip = 0; chip < topology.chips(); ++chip) {
    if (!topology.Live(ChipId(chip))) group[chip] = -1;
  }
  return group;
}

// Running totals over pairs of one search or many.
struct Totals {
  int farthest = 0;
  double hops = 0;
  double pairs = 0;
};

void Add(int level, double pairs, Totals& totals) {
  if (pairs == 0) return;
  totals.farthest = std::max(totals.farthest, level);
  totals.hops += level * pairs;
  totals.pairs += pairs;
}

DistanceSummary ToSummary(const Totals& totals) {
  return {totals.farthest, totals.pairs > 0 ? totals.hops / totals.pairs : 0.0};
}

// Breadth-first search from up to 64 chips at once: bit k of a mask stands for
// sources[k].
void SearchBatch(const Topology& topology, const std::vector<int>& group,
                 const std::vector<ChipId>& sources, Totals& totals) {
  const int chips = topology.chips();
  std::vector<std::uint64_t> seen(chips), front(chips), next(chips);
  std::vector<std::uint64_t> counted(chips);
  for (std::size_t k = 0; k < sources.size(); ++k) {
    const std::uint32_t source = sources[k].value();
    const std::uint64_t bit = std::uint64_t{1} << k;
    seen[source] |= bit;
    front[source] |= bit;
    for (int chip = 0; chip < chips; ++chip) {
      if (group[chip] == group[source]) counted[chip] |= bit;
    }
  }
  bool moving = true;
  for (int level = 1; moving; ++level) {
    moving = false;
    std::fill(next.begin(), next.end(), 0);
    for (int chip = 0; chip < chips; ++chip) {
      if (front[chip] == 0) continue;
      topology.ForEachLiveLinkFrom(ChipId(chip), [&](LinkId link) {
        next[topology.Target(link).value()] |= front[chip];
      });
    }
    for (int chip = 0; chip < chips; ++chip) {
      next[chip] &= ~seen[chip];
      if (next[chip] == 0) continue;
      moving = true;
      seen[chip] |= next[chip];
      Add(level, std::popcount(next[chip] & counted[chip]), totals);
    }
    front.swap(next);
  }
}

// The hops of a healthy twisted slice depend on the displacement only, but two
// members of a sub-grid do not see the same displacements: each one counts for
// the pairs that have it.
DistanceSummary SearchOne(const Topology& topology,
                          const std::vector<int>& axes) {
  const std::vector<int> hops = HopsFrom(topology, ChipId(0));
  Coordinates by{};
  for (const int a : axes) by[a] = 1 - topology.axes()[a].size;
  Totals totals;
  while (true) {
    double pairs = 1;
    for (const int a : axes) pairs *= topology.axes()[a].size - std::abs(by[a]);
    const int level = hops[topology.Translate(ChipId(0), by).value()];
    if (level > 0) Add(level, pairs, totals);
    std::size_t k = 0;
    while (k < axes.size() &&
           by[axes[k]] + 1 == topology.axes()[axes[k]].size) {
      by[axes[k]] = 1 - topology.axes()[axes[k]].size;
      ++k;
    }
    if (k == axes.size()) return ToSummary(totals);
    ++by[axes[k]];
  }
}

std::vector<std::vector<std::uint32_t>> Adjacency(const Topology& topology,
                                                  bool reversed) {
  std::vector<std::vector<std::uint32_t>> next(topology.chips());
  topology.ForEachLiveLink([&](LinkId link) {
    const std::uint32_t from = topology.Source(link).value();
    const std::uint32_t to = topology.Target(link).value();
    if (reversed) {
      next[to].push_back(from);
    } else {
      next[from].push_back(to);
    }
  });
  return next;
}

std::vector<bool> Reached(const std::vector<std::vector<std::uint32_t>>& next,
                          std::uint32_t from) {
  std::vector<bool> seen(next.size());
  std::deque<std::uint32_t> queue = {from};
  seen[from] = true;
  while (!queue.empty()) {
    const std::uint32_t chip = queue.front();
    queue.pop_front();
    for (const std::uint32_t other : next[chip]) {
      if (seen[other]) continue;
      seen[other] = true;
      queue.push_back(other);
    }
  }
  return seen;
}

}  // namespace

int HopsAlong(const GridAxis& axis, int from, int to) {
  const int apart = std::abs(to - from);
  return axis.wrap ? std::min(apart, axis.size - apart) : apart;
}

double SumOfHops(const GridAxis& axis) {
  const double n = axis.size;
  if (!axis.wrap) return n * (n * n - 1) / 3;
  // A ring: over all displacements k, min(k, n-k) adds up to floor(n^2/4).
  return n * static_cast<double>(axis.size / 2) * ((axis.size + 1) / 2);
}

std::vector<int> HopsFrom(const Topology& topology, ChipId from) {
  std::vector<int> hops(topology.chips(), kUnreachable);
  if (!topology.Live(from)) return hops;
  std::deque<ChipId> queue = {from};
  hops[from.value()] = 0;
  while (!queue.empty()) {
    const ChipId chip = queue.front();
    queue.pop_front();
    topology.ForEachLiveLinkFrom(chip, [&](LinkId link) {
      const ChipId target = topology.Target(link);
      if (hops[target.value()] != kUnreachable) return;
      hops[target.value()] = hops[chip.value()] + 1;
      queue.push_back(target);
    });
  }
  return hops;
}

std::vector<int> HopsTo(const Topology& topology, ChipId to) {
  std::vector<int> hops(topology.chips(), kUnreachable);
  if (!topology.Live(to)) return hops;
  const auto before = Adjacency(topology, /*reversed=*/true);
  std::vector<std::uint32_t> queue = {to.value()};
  hops[to.value()] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (const std::uint32_t chip : before[queue[next]]) {
      if (hops[chip] != kUnreachable) continue;
      hops[chip] = hops[queue[next]] + 1;
      queue.push_back(chip);
    }
  }
  return hops;
}

DistanceSummary SummariseAxisGroups(const Topology& topology,
                                    const std::vector<int>& axes) {
  if (topology.healthy() && !topology.twisted()) {
    return ClosedForm(topology, axes);
  }
  if (topology.healthy()) return SearchOne(topology, axes);
  return SummariseDistances(topology, AxisGroups(topology, axes));
}

DistanceSummary SummariseDistances(const Topology& topology) {
  if (topology.is_grid() && topology.healthy()) {
    return SummariseAxisGroups(topology, AllIciAxes(topology));
  }
  return SummariseDistances(topology, SliceGroups(topology));
}

DistanceSummary SummariseDistances(const Topology& topology,
                                   const std::vector<int>& group) {
  Totals totals;
  std::vector<ChipId> sources;
  for (int chip = 0; chip < topology.chips(); ++chip) {
    if (group[chip] >= 0 && topology.Live(ChipId(chip))) {
      sources.push_back(ChipId(chip));
    }
    if (sources.size() == 64 ||
        (chip + 1 == topology.chips() && !sources.empty())) {
      SearchBatch(topology, group, sources, totals);
      sources.clear();
    }
  }
  return ToSummary(totals);
}

void RequireConnected(const Topology& topology, const std::string& where) {
  if (topology.is_grid() && topology.healthy()) return;
  if (topology.live_chips() == 0) {
    throw InputError(where, "every chip is dead");
  }
  const std::vector<int> group = SliceGroups(topology);
  const auto forward = Adjacency(topology, /*reversed=*/false);
  const auto backward = Adjacency(topology, /*reversed=*/true);
  std::vector<bool> slice_done(topology.chips());
  std::vector<std::string> lost;
  std::size_t count = 0;
  std::string from;
  for (int first = 0; first < topology.chips() && count == 0; ++first) {
    if (group[first] < 0 || slice_done[group[first]]) continue;
    slice_done[group[first]] = true;
    const std::vector<bool> out = Reached(forward, first);
    const std::vector<bool> in = Reached(backward, first);
    for (int chip = first; chip < topology.chips(); ++chip) {
      if (group[chip] != group[first] || (out[chip] && in[chip])) continue;
      if (from.empty()) from = topology.NameOf(ChipId(first));
      if (++count <= kNamedChips) {
        lost.push_back("(" + topology.NameOf(ChipId(chip)) + ")");
      }
    }
  }
  if (count == 0) return;
  throw InputError(
      where, "the slice is disconnected: chip (" + from +
                 ") cannot reach, or be reached from, " +
                 std::to_string(count) + (count == 1 ? " chip: " : " chips: ") +
                 Join(lost, " ") + (count > kNamedChips ? " ..." : "") +
                 "; repair a link or mark those chips dead (chip:...)");
}

}  // namespace podsim
