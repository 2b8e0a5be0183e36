#include "cost/fx_estimate.h"

#include <algorithm>
#include <cmath>

#include "collective/fx_plan.h"
#include "collective/sub_grid.h"

namespace podsim {
namespace {

// How far the messages of one factor of a round go (0: to the chip itself), and
// how many of them the fullest link of its axis carries.
struct FactorCost {
  int axis;
  std::vector<int> hops;
  double load;
};

FactorCost OnLine(int axis, int radix, int window) {
  FactorCost cost{.axis = axis, .hops = {}, .load = 0};
  for (int k = 0; k < radix; ++k) cost.hops.push_back(k * window);
  cost.load = static_cast<double>(window) * (radix / 2) * ((radix + 1) / 2);
  return cost;
}

FactorCost OnRing(int axis, int radix, int window, int size, bool anchored) {
  const bool centred = radix % 2 != 0 || (!anchored && window % 2 == 0);
  const int base =
      centred ? -window * (radix - 1) / 2 : -window * (radix / 2 - 1);
  FactorCost cost{.axis = axis, .hops = {}, .load = 0};
  double plus = 0, minus = 0;
  for (int k = 0; k < radix; ++k) {
    int by = ((base + window * k) % size + size) % size;
    if (2 * by > size) by -= size;
    cost.hops.push_back(std::abs(by));
    // Halfway around every other chip goes the other way.
    if (2 * by == size) {
      plus += by / 2.0;
      minus += by / 2.0;
    } else {
      (by > 0 ? plus : minus) += std::abs(by);
    }
  }
  cost.load = std::ceil(std::max(plus, minus));
  return cost;
}

// What the messages of one part cost in one round: `bytes` each.
struct PartRound {
  std::size_t part;
  std::vector<FactorCost> factors;
  double bytes;
};

class Estimate {
 public:
  Estimate(const LoweringSpec& spec, const Collective& collective,
           const Slice& slice)
      : kind_(collective.kind),
        payload_(static_cast<double>(collective.payload.value())),
        grid_(SubGridOf(collective, slice.topology)),
        active_(ActiveAxes(collective, slice.topology)),
        slice_(slice),
        issue_(slice.parameters.ici_issue.value()),
        start_(slice.parameters.ici_message_overhead.value()),
        alpha_(slice.topology.base_latency().value()),
        rate_(slice.topology.base_bandwidth().value()),
        cut_(spec.cut) {
    if (grid_.axes() == 0) return;
    plan_ = MakeFxPlan(ParseFxText(spec.plan, "plan"));
    if (kind_ == CollectiveKind::kBroadcast) plan_.anchored = true;
    for (const FxPart& part : plan_.parts) {
      rounds_ = std::max(rounds_, static_cast<int>(part.size()));
    }
  }

  // Parts do not wait for each other, but share chips and links.
  double Seconds() {
    double time = 0;
    if (grid_.axes() == 0 || payload_ == 0) return time;
    carried_.assign(grid_.axes(), 0);
    for (part_ = 0; part_ < plan_.parts.size(); ++part_) {
      time = std::max(time, PartSeconds());
    }
    const double busiest = *std::max_element(carried_.begin(), carried_.end());
    return std::max(time, issue_ + start_ + alpha_ + busiest / rate_);
  }

 private:
  double PartSeconds() {
    switch (kind_) {
      case CollectiveKind::kAllGather:
      case CollectiveKind::kReduceScatter:
        return Gather(rounds_, grid_.chips);
      case CollectiveKind::kAllReduce:
        return Gather(cut_, ShareOf(cut_)) + Exchange(cut_) +
               Gather(cut_, ShareOf(cut_));
      case CollectiveKind::kBroadcast:
        return Scatter(ShareOf(cut_)) + Exchange(cut_) +
               Gather(cut_, ShareOf(cut_));
      default:
        return AllToAll();
    }
  }

  double parts() const { return static_cast<double>(plan_.parts.size()); }

  // The chips that the first `cut` rounds span.
  double ShareOf(int cut) const {
    double chips = 1;
    const FxPart& part = plan_.parts[0];
    for (int j = 0; j < std::min<int>(cut, static_cast<int>(part.size()));
         ++j) {
      for (const FxFactor& factor : part[j]) chips *= factor.radix;
    }
    return chips;
  }

  // The rounds before it set the windows of a round.
  std::vector<FactorCost> FactorsOf(const FxPart& part, int round) const {
    std::vector<int> windows(grid_.axes(), 1);
    for (int j = 0; j < round; ++j) {
      for (const FxFactor& factor : part[j])
        windows[factor.axis] *= factor.radix;
    }
    std::vector<FactorCost> costs;
    for (const FxFactor& factor : part[round]) {
      const GridAxis& along = slice_.topology.axes()[active_[factor.axis]];
      costs.push_back(
          along.wrap && along.size > 2
              ? OnRing(factor.axis, factor.radix, windows[factor.axis],
                       along.size, plan_.anchored)
              : OnLine(factor.axis, factor.radix, windows[factor.axis]));
    }
    return costs;
  }

  // Rounds [first, end), `bytes(part, round)` per message.
  template <class BytesOf>
  double Rounds(int first, int end, BytesOf bytes) {
    double time = 0;
    for (int j = first; j < end; ++j) {
      if (j >= static_cast<int>(plan_.parts[part_].size())) break;
      std::vector<PartRound> round;
      for (std::size_t k = 0; k < plan_.parts.size(); ++k) {
        const FxPart& part = plan_.parts[k];
        if (j < static_cast<int>(part.size())) {
          round.push_back({k, FactorsOf(part, j), bytes(part, j)});
        }
      }
      time += RoundTime(round);
    }
    return time;
  }

  // All that a chip has so far: the shards of the rounds before.
  double Gather(int end, double shares) {
    return Rounds(0, end, [&](const FxPart& part, int round) {
      double held = 1;
      for (int j = 0; j < round; ++j) {
        for (const FxFactor& factor : part[j]) held *= factor.radix;
      }
      return held * payload_ / (parts() * shares);
    });
  }

  double Exchange(int cut) {
    const double bytes = payload_ / (parts() * ShareOf(cut));
    return Rounds(cut, rounds_, [&](const FxPart&, int) { return bytes; });
  }

  double AllToAll() {
    return Rounds(0, rounds_, [&](const FxPart& part, int round) {
      double radix = parts();
      for (const FxFactor& factor : part[round]) radix *= factor.radix;
      return payload_ / radix;
    });
  }

  // From the root, one message to every chip of its own share.
  double Scatter(double shares) const {
    if (shares <= 1) return 0;
    const double messages = parts() * (shares - 1);
    const double links = 2.0 * grid_.axes();
    return start_ + messages * issue_ + alpha_ +
           payload_ * (shares - 1) / shares / (links * rate_);
  }

  // Of the messages of one factor with all of the others', how far they go.
  static std::vector<int> HopsOf(const PartRound& part) {
    std::vector<int> sums = {0};
    for (const FactorCost& factor : part.factors) {
      std::vector<int> longer;
      for (const int sum : sums) {
        for (const int more : factor.hops) longer.push_back(sum + more);
      }
      sums = std::move(longer);
    }
    std::erase(sums, 0);
    return sums;
  }

  // Of this part, beside the messages of the others.
  double RoundTime(const std::vector<PartRound>& round) {
    struct Message {
      int hops;
      bool own;
    };
    std::vector<Message> messages;
    std::vector<double> on_axis(grid_.axes());  // bytes on its fullest link
    std::vector<bool> used(grid_.axes());       // by this part
    double bytes = 0;
    for (const PartRound& part : round) {
      const bool own = part.part == part_;
      double product = 1;
      for (const FactorCost& factor : part.factors) {
        product *= static_cast<double>(factor.hops.size());
      }
      for (const FactorCost& factor : part.factors) {
        const double carried = factor.load * part.bytes * product /
                               static_cast<double>(factor.hops.size());
        on_axis[factor.axis] += carried;
        if (!own) continue;
        used[factor.axis] = true;
        carried_[factor.axis] += carried;
      }
      for (const int hops : HopsOf(part)) messages.push_back({hops, own});
      if (own) bytes = part.bytes;
    }
    std::stable_sort(
        messages.begin(), messages.end(),
        [](const Message& a, const Message& b) { return a.hops > b.hops; });
    double last = 0;
    int nearest = 0;
    for (std::size_t k = 0; k < messages.size(); ++k) {
      if (!messages[k].own) continue;
      last = std::max(last, static_cast<double>(k + 1) * issue_ +
                                alpha_ * messages[k].hops);
      nearest = messages[k].hops;
    }
    if (nearest == 0) return 0;
    double loaded = 0;
    for (int axis = 0; axis < grid_.axes(); ++axis) {
      if (used[axis]) loaded = std::max(loaded, on_axis[axis]);
    }
    return std::max(start_ + bytes / rate_ + last,
                    issue_ + start_ + alpha_ * nearest + loaded / rate_);
  }

  CollectiveKind kind_;
  double payload_;
  SubGrid grid_;
  std::vector<int> active_;
  const Slice& slice_;
  double issue_, start_, alpha_, rate_;
  int cut_;
  int rounds_ = 0;
  FxPlan plan_;
  std::size_t part_ = 0;         // whose time it is
  std::vector<double> carried_;  // bytes on the fullest link of each axis
};

// Every axis in one round; those of 8 and 16 in two where `two`.
std::string RadicesOf(const SubGrid& grid, bool two) {
  std::string text;
  for (const int size : grid.sizes) {
    if (!text.empty()) text += '/';
    text += two && size == 8    ? "2.4"
            : two && size == 16 ? "4.4"
                                : std::to_string(size);
  }
  return text;
}

}  // namespace

Seconds EstimateFx(const LoweringSpec& spec, const Collective& collective,
                   const Slice& slice) {
  return Seconds(Estimate(spec, collective, slice).Seconds()) +
         slice.parameters.collective_launch;
}

std::vector<LoweringSpec> FxCandidates(const Collective& collective,
                                       const Topology& topology) {
  LoweringSpec spec{.name = "fx", .fractions = {}};
  if (WhyNot(spec, collective, topology)) return {};
  const SubGrid grid = SubGridOf(collective, topology);
  const int d = grid.axes();
  if (d == 0) return {};
  std::vector<std::string> plans;
  for (const bool two : {false, true}) {
    const std::string radices = RadicesOf(grid, two);
    if (two && radices == RadicesOf(grid, false)) continue;
    plans.push_back(radices);
    if (d > 1) {
      plans.push_back(radices + ":L");
      plans.push_back(radices + "*" + std::to_string(d));
    }
    if (d == 3) {
      plans.push_back(radices + ":F2");
      plans.push_back(radices + ":L2");
    }
  }
  const bool cuts = collective.kind == CollectiveKind::kAllReduce ||
                    collective.kind == CollectiveKind::kBroadcast;
  std::vector<LoweringSpec> specs;
  for (const std::string& plan : plans) {
    spec.plan = plan;
    spec.cut = -1;
    if (!cuts) {
      specs.push_back(spec);
      continue;
    }
    // More rounds than these no plan has.
    for (int cut = 0; cut <= 2 * d; ++cut) {
      spec.cut = cut;
      if (!WhyNot(spec, collective, topology)) specs.push_back(spec);
    }
  }
  return specs;
}

}  // namespace podsim
