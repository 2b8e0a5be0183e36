#include "cost/latency_bounds.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "collective/groups.h"
#include "topology/distance.h"

namespace podsim {
namespace {

// Whole numbers of issues count although a sum of dates is a little short.
constexpr double kWhole = 1e-9;
// Relative width at which a date is known.
constexpr double kWidth = 1e-13;
// Farther than that only the nearest and the farthest members count.
constexpr int kMostHops = 4096;
// Without symmetry: chips looked at times chips of the slice; at least a few.
constexpr int kMostSearched = 1 << 16;
constexpr int kMostSources = 64;
constexpr int kFewSources = 4;

// C(m, k) of whole m, or `enough` if that is less. Exact: every factor turns
// one binomial coefficient into the next.
double Choose(double m, int k, double enough) {
  if (k > m) return 0;
  const double steps = std::min<double>(k, m - k);
  double count = 1;
  for (double i = 1; i <= steps; ++i) {
    count = count * (m - steps + i) / i;
    if (count >= enough) return enough;
  }
  return std::min(count, enough);
}

// Whether sequences of issues end by `date` at as many chips as are that far.
bool CanInform(const MessageCost& cost, const Beyond& beyond, double date) {
  double informed = 0;
  for (int k = 1; informed < beyond.members; ++k) {
    const double left =
        date - k * cost.overhead - std::max(k, beyond.hops) * cost.alpha;
    const double issues = std::floor(left / cost.issue + kWhole);
    if (!(issues >= k)) return false;
    informed += Choose(issues, k, beyond.members);
  }
  return true;
}

using Histogram = std::vector<double>;  // chips by hops

Histogram AlongAxis(const GridAxis& axis, int from) {
  const int farthest =
      axis.wrap ? axis.size / 2 : std::max(from, axis.size - 1 - from);
  Histogram chips(farthest + 1);
  for (int at = 0; at < axis.size; ++at) ++chips[HopsAlong(axis, from, at)];
  return chips;
}

Histogram Sum(const Histogram& a, const Histogram& b) {
  Histogram sum(a.size() + b.size() - 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < b.size(); ++k) sum[i + k] += a[i] * b[k];
  }
  return sum;
}

Spread FromHistogram(const Histogram& chips) {
  Spread spread;
  double members = 0;
  for (int hops = static_cast<int>(chips.size()) - 1; hops > 0; --hops) {
    members += chips[hops];
    if (members > 0) spread.push_back({hops, members});
  }
  std::reverse(spread.begin(), spread.end());
  return spread;
}

class Finder {
 public:
  explicit Finder(const LatencyQuestion& question)
      : collective_(question.collective),
        topology_(question.topology),
        question_(question),
        cost_(question.cost),
        payload_(static_cast<double>(question.collective.payload.value())) {}

  std::vector<BoundComponent> Find() {
    if (!Applies()) return {};
    if (question_.symmetric) {
      LookAtGrid();
    } else {
      LookAtChips();
    }
    std::vector<BoundComponent> components;
    const auto add = [&](const char* name, std::optional<double> seconds) {
      if (seconds) components.push_back({name, Seconds(*seconds)});
    };
    add("front", front_);
    add("issue", issue_);
    add("horizon", horizon_);
    return components;
  }

 private:
  bool Applies() const {
    switch (collective_.kind) {
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kAllGather:
      case CollectiveKind::kReduceScatter:
      case CollectiveKind::kAllToAll:
      case CollectiveKind::kBroadcast:
        return true;
      default:
        return false;
    }
  }
  bool FromRoot() const {
    return collective_.kind == CollectiveKind::kBroadcast;
  }
  // Every chip needs a share of its own of every other one.
  bool Gathers() const {
    return collective_.kind == CollectiveKind::kAllGather ||
           collective_.kind == CollectiveKind::kAllToAll;
  }
  // Ranks without a byte neither send nor need any.
  bool AllDepend(int n) const {
    return n > 1 &&
           (FromRoot() || collective_.kind == CollectiveKind::kAllReduce ||
            payload_ >= n);
  }

  static void Raise(std::optional<double>& seconds, double to) {
    seconds = std::max(seconds.value_or(0), to);
  }

  // What a member of a group of n learns last: of the farthest other one.
  double EnterBytes(int n) const {
    return collective_.kind == CollectiveKind::kReduceScatter ? payload_ / n
                                                              : payload_;
  }
  void ConsiderFront(const Spread& spread, int n, double capacity) {
    if (spread.empty()) return;
    if (!Gathers()) {
      Raise(front_,
            cost_.Before(spread.back().hops) + EnterBytes(n) / capacity);
      return;
    }
    for (const Beyond& beyond : spread) {
      Raise(front_, cost_.Before(beyond.hops) +
                        beyond.members * (payload_ / n) / capacity);
    }
  }

  // ---- plain grids ------------------------------------------------------

  // A corner has the fewest links, and along every axis no chip has more
  // others at any distance and beyond: it is the worst chip of all. So is, for
  // a root, the chip farthest from it along every axis.
  void LookAtGrid() {
    const int n = GroupSize(collective_, topology_);
    if (!AllDepend(n)) return;
    const Coordinates from =
        FromRoot() ? topology_.CoordinatesOf(question_.root) : Coordinates{};
    const Spread spread = SpreadOnAxes(topology_, collective_.axes, from);
    ConsiderFront(spread, n, CornerCapacity());
    Raise(issue_, IssueSeconds(cost_, spread));
    if (collective_.kind == CollectiveKind::kAllReduce && IsOneRing(n)) {
      Raise(horizon_,
            HorizonSeconds(cost_, n,
                           payload_ / topology_.base_bandwidth().value()));
    }
  }

  // Summed link by link, as for `chip`: equal bounds are to be equal bits.
  double CornerCapacity() const {
    double capacity = 0;
    for (int axis = 0; axis < topology_.ici_axes(); ++axis) {
      const GridAxis& along = topology_.axes()[axis];
      if (along.size == 1) continue;
      for (int k = 0; k < (along.wrap ? 2 : 1); ++k) {
        capacity += topology_.base_bandwidth().value();
      }
    }
    return capacity;
  }

  bool IsOneRing(int n) const {
    if (n < 3 || n != topology_.chips()) return false;
    return std::any_of(
        topology_.axes().begin(), topology_.axes().end(),
        [&](const GridAxis& axis) { return axis.size == n && axis.wrap; });
  }

  // ---- other slices -----------------------------------------------------

  void LookAtChips() {
    in_rate_.assign(topology_.chips(), 0);
    topology_.ForEachLiveLink([&](LinkId link) {
      in_rate_[topology_.Target(link).value()] +=
          topology_.Bandwidth(link).value();
    });
    for (const ChipId source : Sources()) LookFrom(source);
  }

  // The roots, or as many members as are cheap: every one of up to 64 chips.
  std::vector<ChipId> Sources() const {
    if (AllAlike()) return {ChipId(0)};
    std::vector<ChipId> all;
    if (FromRoot()) {
      all = question_.roots;
    } else {
      for (int id = 0; id < topology_.chips(); ++id) {
        if (question_.groups.of_chip[id] >= 0) all.emplace_back(id);
      }
    }
    const int most = std::clamp(kMostSearched / topology_.chips(), kFewSources,
                                kMostSources);
    const std::size_t step = (all.size() + most - 1) / most;
    std::vector<ChipId> sources;
    for (std::size_t k = 0; k < all.size(); k += step) {
      sources.push_back(all[k]);
    }
    return sources;
  }

  // A twisted torus looks the same from every chip.
  bool AllAlike() const {
    return topology_.healthy() && topology_.twisted() && !FromRoot() &&
           question_.groups.sizes.size() == 1 &&
           question_.groups.sizes[0] == topology_.chips() &&
           std::all_of(topology_.axes().begin(), topology_.axes().end(),
                       [](const GridAxis& axis) {
                         return axis.wrap || axis.size == 1;
                       });
  }

  void LookFrom(ChipId source) {
    const int which = question_.groups.of_chip[source.value()];
    const int n = question_.groups.sizes[which];
    if (!AllDepend(n)) return;
    const std::vector<int> hops = HopsFrom(topology_, source);
    const Spread spread = SpreadOf(hops, question_.groups.of_chip, which);
    if (spread.empty()) return;
    Raise(issue_, IssueSeconds(cost_, spread));
    if (Gathers() && topology_.healthy()) {
      ConsiderFront(spread, n, in_rate_[source.value()]);
      return;
    }
    if (Gathers()) {
      // Links may have died in one direction only.
      ConsiderFront(
          SpreadOf(HopsTo(topology_, source), question_.groups.of_chip, which),
          n, in_rate_[source.value()]);
      return;
    }
    for (int chip = 0; chip < topology_.chips(); ++chip) {
      if (question_.groups.of_chip[chip] != which || hops[chip] <= 0) continue;
      Raise(front_, cost_.Before(hops[chip]) + EnterBytes(n) / in_rate_[chip]);
    }
  }

  const Collective& collective_;
  const Topology& topology_;
  const LatencyQuestion& question_;
  MessageCost cost_;
  double payload_;                                 // S, bytes
  std::vector<double> in_rate_;                    // bytes/s by chip
  std::optional<double> front_, issue_, horizon_;  // s, once considered
};

}  // namespace

Spread SpreadOf(const std::vector<int>& hops, const std::vector<int>& group,
                int which) {
  Histogram chips(1);
  for (std::size_t chip = 0; chip < hops.size(); ++chip) {
    if (group[chip] != which || hops[chip] < 0) continue;
    if (hops[chip] >= static_cast<int>(chips.size())) {
      chips.resize(hops[chip] + 1);
    }
    ++chips[hops[chip]];
  }
  return FromHistogram(chips);
}

Spread SpreadOnAxes(const Topology& topology, const std::vector<int>& axes,
                    const Coordinates& from) {
  int farthest = 0;
  double members = 1;
  for (const int a : axes) {
    const GridAxis& axis = topology.axes()[a];
    farthest +=
        axis.wrap ? axis.size / 2 : std::max(from[a], axis.size - 1 - from[a]);
    members *= axis.size;
  }
  if (farthest > kMostHops) return {{1, members - 1}, {farthest, 1}};
  Histogram chips = {1};
  for (const int a : axes) {
    chips = Sum(chips, AlongAxis(topology.axes()[a], from[a]));
  }
  return FromHistogram(chips);
}

double IssueSeconds(const MessageCost& cost, const Spread& spread) {
  double date = cost.Before(spread.back().hops);
  if (cost.issue == 0) return date;
  for (auto beyond = spread.rbegin(); beyond != spread.rend(); ++beyond) {
    if (CanInform(cost, *beyond, date)) continue;
    // The source can inform them all by itself.
    double late = beyond->members * cost.issue + cost.overhead +
                  beyond->hops * cost.alpha;
    while (late - date > kWidth * late) {
      const double middle = date + (late - date) / 2;
      (CanInform(cost, *beyond, middle) ? late : date) = middle;
    }
  }
  return date;
}

double HorizonSeconds(const MessageCost& cost, int n, double transfer) {
  const auto seconds = [&](int budget) {
    const int per_link = 2 * budget - n + 2;
    const int crossing = n - 1 - budget;
    const int times = (crossing + per_link - 1) / per_link;
    return std::pair(cost.Before(budget + 1),
                     cost.Before(1) + times * transfer);
  };
  // Hops rise and bytes fall with the budget: the best of the smaller ones is
  // on either side of where they cross.
  int low = n / 2, high = n - 2;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    const auto [hops, bytes] = seconds(middle);
    if (hops >= bytes) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const auto least = [&](int budget) {
    const auto [hops, bytes] = seconds(budget);
    return std::min(hops, bytes);
  };
  return std::max(least(low), least(std::max(n / 2, low - 1)));
}

std::vector<BoundComponent> LatencyBounds(const LatencyQuestion& question) {
  return Finder(question).Find();
}

}  // namespace podsim
