#ifndef PODSIM_TEST_SUPPORT_PROVE_WHOLE_H_
#define PODSIM_TEST_SUPPORT_PROVE_WHOLE_H_

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "collective/groups.h"
#include "engine/engine.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"

namespace podsim {

// Proofs of lowerings that build the schedule of every chip.

inline constexpr Rates kTestRates{
    .bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};

inline std::string FirstOf(const Violations& violations) {
  return violations.empty() ? "none" : violations.texts().front();
}

// Right, and within what the row says of it without building it: transfers at
// most `count`, time at least `at_least`. Returns the time.
inline double ProveWhole(const Slice& slice, const LoweringSpec& spec,
                         const Collective& collective) {
  CAPTURE(slice.spec, spec.name, spec.ports, spec.far_first,
          ToText(collective.kind), collective.axes, collective.payload.value());
  const WholeSchedule whole = MakeWhole(slice, spec, collective);
  const Violations found =
      VerifyFull(whole.schedule, whole.meaning, slice.topology);
  CAPTURE(FirstOf(found));
  REQUIRE(found.empty());
  const Lowering& row = *FindLowering(spec.name);
  const LoweringSpec resolved = Resolve(spec, collective, slice);
  if (row.one_hop) REQUIRE(whole.schedule.one_hop());
  // Where all chips do the same it may count the steps of one.
  const bool one = HasProgram(spec, collective, slice.topology);
  REQUIRE(whole.schedule.transfers() <=
          row.count(collective, slice.topology, resolved) *
              (one ? slice.topology.chips() : 1));
  const double time = RunPod(whole.schedule, MakeNetwork(slice)).makespan;
  REQUIRE(time >=
          row.at_least(collective, slice, resolved).value() * (1 - 1e-9));
  return time;
}

// The same, or nullopt where the lowering does not apply.
inline std::optional<double> ProveWhereItApplies(const Slice& slice,
                                                 const LoweringSpec& spec,
                                                 const Collective& collective) {
  if (WhyNot(spec, collective, slice.topology)) return std::nullopt;
  return ProveWhole(slice, spec, collective);
}

// A grid of 4 to 30 chips with one to four dead links, two thirds of them in
// both directions, and now and then a dead chip other than chip 0.
inline Slice RandomCutSlice(Random& random, const Rates& rates) {
  const Shape shape = RandomShape(random, 4, 30);
  Slice slice = MakeGridOf(shape, RandomWrap(random, shape), rates);
  Topology& topology = slice.topology;
  for (int fault = random.Int(1, 4); fault > 0; --fault) {
    const LinkId link(
        static_cast<std::uint32_t>(random.Between(0, topology.link_ids() - 1)));
    if (!topology.Exists(link)) continue;
    topology.Kill(link);
    if (!random.OneIn(3)) topology.Kill(topology.Reverse(link));
  }
  if (random.OneIn(3)) {
    topology.Kill(ChipId(
        static_cast<std::uint32_t>(random.Int(1, topology.chips() - 1))));
  }
  return slice;
}

inline std::string ReasonOf(const std::string& spec,
                            const Collective& collective,
                            const Topology& topology) {
  return WhyNot(Spec(spec), collective, topology).value_or("applies");
}

// On all grids of up to `max_chips` chips, all groups along axes, payloads
// around the number of ranks. Returns the number of schedules.
inline int ProveOnGrids(const std::string& text, int max_chips) {
  const LoweringSpec spec = Spec(text);
  int proved = 0;
  ForEachGridCollective(
      max_chips, FindLowering(spec.name)->kinds,
      [&](Slice slice, Collective collective) {
        if (WhyNot(spec, collective, slice.topology)) return;
        slice.parameters.ici_message_overhead = Seconds(kTestRates.overhead);
        const int n = GroupSize(collective, slice.topology);
        for (const std::int64_t payload : {0, 1, n - 1, n + 1, 1 << 20}) {
          collective.payload = Bytes(payload);
          ProveWhole(slice, spec, collective);
          ++proved;
        }
      });
  return proved;
}

// On larger slices with start-ups, dead and slow links and dead chips.
inline int ProveOnRandomSlices(const std::string& text, int seeds) {
  const LoweringSpec spec = Spec(text);
  int proved = 0;
  for (std::uint64_t seed = 0; seed < std::uint64_t(seeds); ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 24);
    Slice slice = MakeGridOf(shape, RandomWrap(random, shape), kTestRates);
    Topology& topology = slice.topology;
    const LinkId link(unsigned(random.Int(0, int(topology.link_ids()) - 1)));
    if (topology.Exists(link)) {
      if (random.OneIn(4)) topology.Kill(link);
      if (random.OneIn(4)) topology.Degrade(link, 0.5);
    }
    if (random.OneIn(8)) {
      topology.Kill(ChipId(unsigned(random.Int(0, topology.chips() - 1))));
    }
    const Collective collective{
        .kind = random.Pick(FindLowering(spec.name)->kinds),
        .payload = Bytes(random.Int(0, 1 << 20)),
        .axes = random.Pick(AllAxisSubsets(shape.size()))};
    if (WhyNot(spec, collective, topology)) continue;
    CAPTURE(seed);
    ProveWhole(slice, spec, collective);
    ++proved;
  }
  return proved;
}

// On shuffled lists of chips; `unequal`: groups of any sizes.
inline int ProveOnLists(const std::string& text, CollectiveKind kind,
                        bool unequal, int seeds) {
  int proved = 0;
  for (std::uint64_t seed = 0; seed < std::uint64_t(seeds); ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Shape shape = RandomShape(random, 4, 24);
    const Slice slice =
        MakeGridOf(shape, RandomWrap(random, shape), kTestRates);
    const int chips = slice.topology.chips();
    std::vector<ChipId> order;
    for (int id = 0; id < chips; ++id) order.emplace_back(unsigned(id));
    random.Shuffle(order);
    std::vector<std::vector<ChipId>> groups(
        std::size_t(random.Int(1, std::min(4, chips))));
    const std::size_t each = order.size() / groups.size();
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::size_t fair = k % groups.size();
      if (unequal && k >= groups.size()) {
        random.Pick(std::vector{&groups[fair], &groups[0]})
            ->push_back(order[k]);
      } else if (unequal || groups[fair].size() < each) {
        groups[fair].push_back(order[k]);
      }
    }
    const Collective collective =
        OnLists(kind, random.Pick({1, 5, 4096}), groups);
    if (WhyNot(Spec(text), collective, slice.topology)) continue;
    ProveWhole(slice, Spec(text), collective);
    ++proved;
  }
  return proved;
}

inline std::string WhyNotText(const std::string& spec,
                              const Collective& collective,
                              const Slice& slice) {
  return WhyNot(Spec(spec), collective, slice.topology).value_or("applies");
}

// Transfers and time of one on all chips.
struct Measured {
  std::uint32_t transfers;
  double time;
};
inline Measured Measure(const Slice& slice, const std::string& spec,
                        CollectiveKind kind, std::int64_t payload) {
  const WholeSchedule whole =
      MakeWhole(slice, Spec(spec), OnAllChips(kind, payload, slice));
  return {whole.schedule.transfers(),
          RunPod(whole.schedule, MakeNetwork(slice)).makespan};
}

}  // namespace podsim

#endif  // PODSIM_TEST_SUPPORT_PROVE_WHOLE_H_
