#include "cost/cut.h"

namespace podsim {

Groups MakeGroups(const std::vector<std::vector<ChipId>>& lists,
                  const Topology& topology) {
  Groups groups;
  groups.of_chip.assign(topology.chips(), -1);
  for (const auto& list : lists) {
    for (const ChipId chip : list) {
      groups.of_chip[chip.value()] = static_cast<int>(groups.sizes.size());
    }
    groups.sizes.push_back(static_cast<int>(list.size()));
  }
  return groups;
}

double SmallestLatency(const Topology& topology) {
  if (topology.is_grid()) return topology.base_latency().value();
  double alpha = std::numeric_limits<double>::infinity();
  topology.ForEachLiveLink([&](LinkId link) {
    alpha = std::min(alpha, topology.Latency(link).value());
  });
  return alpha;
}

double StartOf(const Parameters& parameters, bool over_dcn) {
  return parameters.ici_message_overhead.value() +
         (over_dcn ? 0 : parameters.ici_issue.value());
}

double TotalCapacity(const Topology& topology) {
  double capacity = 0;
  if (!topology.plain()) {
    topology.ForEachLiveLink(
        [&](LinkId link) { capacity += topology.Bandwidth(link).value(); });
    return capacity;
  }
  for (int axis = 0; axis < topology.ici_axes(); ++axis) {
    capacity += AxisCapacity(axis, topology);
  }
  return capacity;
}

double AxisCapacity(int axis, const Topology& topology) {
  if (topology.plain()) {
    const GridAxis& along = topology.axes()[axis];
    const double per_line = along.size == 1 ? 0
                            : along.wrap    ? 2.0 * along.size
                                            : 2.0 * (along.size - 1);
    return per_line * topology.chips() / along.size *
           topology.base_bandwidth().value();
  }
  double capacity = 0;
  topology.ForEachLiveLink([&](LinkId link) {
    if (topology.AxisOf(link) == axis) {
      capacity += topology.Bandwidth(link).value();
    }
  });
  return capacity;
}

std::vector<int> MembersInside(const ChipSet& set, const Groups& groups) {
  std::vector<int> inside(groups.sizes.size());
  for (std::size_t id = 0; id < set.size(); ++id) {
    if (set[id] && groups.of_chip[id] >= 0) ++inside[groups.of_chip[id]];
  }
  return inside;
}

double MustLeave(CollectiveKind kind, double payload, int n, int a,
                 bool root_inside) {
  const int b = n - a;
  if (a == 0 || b == 0) return 0;
  const double shard = payload / n;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return payload;
    case CollectiveKind::kAllGather:
      return a * shard;
    case CollectiveKind::kReduceScatter:
      return b * shard;
    case CollectiveKind::kAllToAll:
      return static_cast<double>(a) * b * shard;
    case CollectiveKind::kBroadcast:
      return root_inside ? payload : 0;
    case CollectiveKind::kReduce:
      return root_inside ? 0 : payload;
    case CollectiveKind::kGather:
      return root_inside ? 0 : a * shard;
    case CollectiveKind::kScatter:
      return root_inside ? b * shard : 0;
    case CollectiveKind::kRaggedAllToAll:
    case CollectiveKind::kCollectivePermute:
      break;  // pairs with bytes of their own: pair_bounds.h
  }
  return 0;
}

std::vector<LiveLink> LiveLinksOf(const Topology& topology) {
  std::vector<LiveLink> links;
  topology.ForEachLiveLink([&](LinkId link) {
    links.push_back({topology.Source(link).value(),
                     topology.Target(link).value(),
                     topology.Bandwidth(link).value()});
  });
  return links;
}

CutCapacity CapacityAround(const ChipSet& set,
                           const std::vector<LiveLink>& links) {
  CutCapacity capacity;
  for (const LiveLink& link : links) {
    const bool from = set[link.from];
    const bool to = set[link.to];
    if (from && !to) capacity.out += link.rate;
    if (!from && to) capacity.in += link.rate;
    if (from && to) capacity.inside += link.rate;
  }
  return capacity;
}

CutCapacity CapacityAround(ChipId chip, const Topology& topology) {
  CutCapacity capacity;
  const auto into = [&](LinkId link) {
    if (topology.Live(link)) capacity.in += topology.Bandwidth(link).value();
  };
  topology.ForEachLiveLinkFrom(chip, [&](LinkId link) {
    capacity.out += topology.Bandwidth(link).value();
  });
  if (!topology.is_grid()) {
    for (std::uint32_t id = 0; id < topology.link_ids(); ++id) {
      if (topology.Target(LinkId(id)) == chip) into(LinkId(id));
    }
    return capacity;
  }
  for (int axis = 0; axis < topology.ici_axes(); ++axis) {
    for (const Sign sign : {Sign::kPlus, Sign::kMinus}) {
      const LinkId out = topology.LinkAt(chip, axis, sign);
      if (topology.Exists(out)) into(topology.Reverse(out));
    }
  }
  return capacity;
}

void ForEachSlab(const Topology& topology, int axis,
                 const std::function<void(const ChipSet&)>& visit) {
  const GridAxis& along = topology.axes()[axis];
  const bool arcs = along.wrap && !topology.twisted();
  std::vector<int> at;  // by chip
  for (int id = 0; id < topology.chips(); ++id) {
    at.push_back(topology.CoordinatesOf(ChipId(id))[axis]);
  }
  for (int first = 0; first < (arcs ? along.size : 1); ++first) {
    for (int length = 1; length < along.size; ++length) {
      ChipSet set(topology.chips());
      for (int id = 0; id < topology.chips(); ++id) {
        set[id] = (at[id] - first + along.size) % along.size < length;
      }
      visit(set);
    }
  }
}

void ForEachBox(const Topology& topology,
                const std::function<void(const ChipSet&)>& visit) {
  const auto& axes = topology.axes();
  Coordinates lo{}, hi{};
  const auto visit_box = [&] {
    ChipSet set(topology.chips());
    int members = 0;
    for (int id = 0; id < topology.chips(); ++id) {
      const Coordinates at = topology.CoordinatesOf(ChipId(id));
      bool in = true;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        in &= at[a] >= lo[a] && at[a] <= hi[a];
      }
      set[id] = in;
      members += in ? 1 : 0;
    }
    if (members >= 2 && members < topology.chips()) visit(set);
  };
  const auto walk = [&](const auto& self, std::size_t axis) -> void {
    if (axis == axes.size()) {
      visit_box();
      return;
    }
    for (lo[axis] = 0; lo[axis] < axes[axis].size; ++lo[axis]) {
      for (hi[axis] = lo[axis]; hi[axis] < axes[axis].size; ++hi[axis]) {
        self(self, axis + 1);
      }
    }
  };
  walk(walk, 0);
}

bool HasBorders(const Topology& topology) {
  if (!topology.is_grid()) return false;
  if (!topology.healthy()) return true;
  for (const GridAxis& axis : topology.axes()) {
    if (axis.ici && axis.size > 1 && !axis.wrap) return true;
  }
  return false;
}

}  // namespace podsim
