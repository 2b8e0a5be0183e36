// Every row of the table on random slices, groups, payloads and parameters:
// what applies is proved, and beats no bound.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "collective/byte_matrix.h"
#include "collective/groups.h"
#include "cost/bounds.h"
#include "engine/engine.h"
#include "schedule/verifier.h"
#include "test/support/prove_whole.h"

namespace podsim {
namespace {

Slice RandomSlice(Random& random) {
  if (random.OneIn(4))
    return MakeTwisted(random.Pick({Shape{2, 4}, Shape{4, 2}, Shape{2, 2, 4}}),
                       kTestRates);
  const Shape shape = RandomShape(random, 2, 24);
  Slice slice = MakeGridOf(shape, RandomWrap(random, shape), kTestRates);
  if (random.OneIn(4)) {
    return MakeSlices(slice, random.Int(2, 3), /*dcn_bandwidth=*/6e9,
                      /*dcn_latency=*/7e-6,
                      {random.Int(1, 2), random.Int(1, 2), 1});
  }
  Topology& topology = slice.topology;
  const LinkId link(
      static_cast<std::uint32_t>(random.Between(0, topology.link_ids() - 1)));
  if (random.OneIn(4) && topology.Exists(link)) topology.Kill(link);
  return slice;
}

// Disjoint lists of one length, in any order.
std::vector<std::vector<ChipId>> RandomGroups(Random& random,
                                              const Topology& topology) {
  std::vector<ChipId> chips;
  for (int id = 0; id < topology.chips(); ++id) chips.emplace_back(id);
  random.Shuffle(chips);
  const int size = random.Int(1, topology.chips());
  const int count = random.Int(1, topology.chips() / size);
  std::vector<std::vector<ChipId>> groups(count);
  for (int k = 0; k < count * size; ++k) {
    groups[k % count].push_back(chips[k]);
  }
  return groups;
}

void SetRandomParties(Random& random, const Slice& slice,
                      Collective& collective) {
  const Topology& topology = slice.topology;
  if (collective.kind == CollectiveKind::kCollectivePermute) {
    for (const auto& group : RandomGroups(random, topology)) {
      for (std::size_t k = 1; k < group.size(); ++k) {
        collective.pairs.push_back({group[k - 1], group[k]});
      }
    }
    if (collective.pairs.empty() || random.OneIn(3)) {
      collective.pairs.clear();
      collective.shift = AxisShift{0, random.Int(1, topology.axes()[0].size)};
      collective.shift->by %= topology.axes()[0].size;
    }
    return;
  }
  if (random.OneIn(4)) {
    collective.axes.clear();
    collective.groups = RandomGroups(random, topology);
  } else if (random.OneIn(2)) {
    collective.axes = random.Pick(AllAxisSubsets(topology.axes().size()));
  }
  const auto groups = GroupsOf(collective, topology);
  if (IsRooted(collective.kind)) collective.root = random.Pick(groups[0]);
  if (collective.kind == CollectiveKind::kRaggedAllToAll) {
    const std::size_t n = groups[0].size();
    ByteMatrix matrix(n, std::vector<Bytes>(n));
    for (auto& row : matrix) {
      for (Bytes& bytes : row) bytes = Bytes(random.Int(0, 5000));
    }
    SetMatrix(std::move(matrix), topology, "test", collective);
  }
}

void SetRandomParameters(Random& random, LoweringSpec& spec) {
  for (const std::string& key : FindLowering(spec.name)->parameters) {
    if (key == "batches") spec.batches = random.Int(1, 3);
    if (key == "chunks") spec.chunks = random.Int(0, 4);
    if (key == "sub_chunks") spec.sub_chunks = random.Int(0, 3);
    if (key == "window") spec.window = random.Int(0, 3);
    if (key == "far_first") spec.far_first = random.OneIn(2);
    if (key == "bidirectional") spec.bidirectional = random.OneIn(2);
    if (key == "step_compute") spec.step_compute = Seconds(2e-6);
    if (key == "fractions") spec.balanced = random.OneIn(2);
    if (key == "axis_primitive") {
      spec.axis_primitive = random.Pick(
          {AxisPrimitive::kRing, AxisPrimitive::kSplit, AxisPrimitive::kShort});
    }
  }
}

TEST_CASE("every lowering, on random slices, groups, payloads and parameters",
          "[collective][property]") {
  std::map<std::string, int> proved;
  int total = 0;
  for (std::uint64_t seed = 0; seed < 30'000; ++seed) {
    Random random(seed);
    const Lowering row = random.Pick(Lowerings());
    // The commonest rows have had their share.
    if (proved[row.name] >= 150) continue;
    const Slice slice = RandomSlice(random);
    Collective collective{
        .kind = random.Pick(row.kinds),
        .payload = Bytes(random.OneIn(2) ? 720 * random.Int(1, 20)
                                         : random.Int(0, 20'000)),
        .axes = AllAxes(slice.topology)};
    SetRandomParties(random, slice, collective);
    LoweringSpec spec = Spec(row.name);
    SetRandomParameters(random, spec);
    if (WhyNot(spec, collective, slice.topology)) continue;
    CAPTURE(seed, slice.spec, slice.topology.slices(), row.name,
            ToText(collective.kind), collective.payload.value(),
            collective.axes);
    const WholeSchedule whole = MakeWhole(slice, spec, collective);
    const Violations found =
        VerifyFull(whole.schedule, whole.meaning, slice.topology);
    CAPTURE(FirstOf(found));
    REQUIRE(found.empty());
    const double time = RunCore(whole.schedule, MakeNetwork(slice)).makespan;
    // Where ranks do not divide the payload a bound may exceed the optimum by
    // less than n bytes on the binding link.
    const double slack = GroupSize(collective, slice.topology) /
                         std::min(6e9, kTestRates.bandwidth);
    for (const BoundComponent& bound :
         ComputeBounds(collective, slice).components) {
      CAPTURE(bound.name, time, bound.time.value());
      REQUIRE(bound.time.value() <= time * (1 + 1e-9) + slack);
    }
    ++proved[row.name];
    ++total;
  }
  CHECK(total >= 3'000);
  for (const Lowering& row : Lowerings()) {
    CAPTURE(row.name, proved[row.name]);
    CHECK(proved[row.name] >= 20);
  }
}

}  // namespace
}  // namespace podsim
