#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "engine/engine.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

double TimeOf(const Slice& slice, const std::string& spec, CollectiveKind kind,
              std::int64_t payload) {
  return RunPod(LowerOn(slice, Spec(spec), OnAllChips(kind, payload, slice))
                    .schedule,
                MakeNetwork(slice))
      .makespan;
}

TEST_CASE("bucket-rotated: equal wrapped axes take sum h a + (P-1)/P S/(2dB)",
          "[collective]") {
  constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};
  const Shape shape =
      GENERATE(Shape{5}, Shape{2, 2}, Shape{3, 3}, Shape{4, 4}, Shape{5, 5},
               Shape{4, 1, 4}, Shape{2, 2, 2}, Shape{3, 3, 3}, Shape{4, 4, 4});
  const CollectiveKind kind = GENERATE(from_range(kLoweredKinds));
  CAPTURE(ToText(shape), ToText(kind));
  const int phases = kind == CollectiveKind::kAllReduce ? 2 : 1;
  const Slice slice = MakeTorus(shape, kRates);
  const int chips = ChipsOf(shape);
  int d = 0, h = 0;
  for (const int size : shape) {
    d += size > 1 ? 1 : 0;
    h += size / 2;
  }
  const std::int64_t payload = std::int64_t{chips} * 2 * d * 3001;
  const Schedule schedule =
      LowerOn(slice, Spec("bucket-rotated"), OnAllChips(kind, payload, slice))
          .schedule;
  const double sent = (chips - 1.0) / chips * static_cast<double>(payload) /
                      (2 * d * kRates.bandwidth);
  CHECK(Near(RunPod(schedule, MakeNetwork(slice)).makespan,
             phases * (h * (kRates.alpha + kRates.overhead) + sent)));
  CHECK(StepsOf(schedule) == phases * h);
  // All links carry the same: the bound of the chip's 2d links.
  for (std::uint32_t link = 0; link < slice.topology.link_ids(); ++link) {
    if (!slice.topology.Exists(LinkId(link))) continue;
    CHECK(LinkBytes(schedule, slice.topology)[link] ==
          phases * (chips - 1) * payload / (2 * d * chips));
  }
}

TEST_CASE("bucket-rotated: an axis carries L_a = sum f_k m_k(a) (n_a-1) S/P",
          "[collective]") {
  // 3x4x5 torus, fractions 0.5/0.2/0.3, two directions share L_a.
  const Shape shape = {3, 4, 5};
  const std::vector<double> fractions = {0.5, 0.2, 0.3};
  const Slice slice = MakeTorus(shape);
  const std::int64_t shard = 20;  // parts of 10, 4, 6: even
  for (const CollectiveKind kind :
       {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    const auto bytes =
        LinkBytes(LowerOn(slice, Spec("bucket-rotated:fractions=0.5/0.2/0.3"),
                          OnAllChips(kind, 60 * shard, slice))
                      .schedule,
                  slice.topology);
    std::vector<std::int64_t> carried(3);  // by one link each way together
    for (std::size_t k = 0; k < 3; ++k) {
      std::int64_t before = 1;
      for (std::size_t stage = 0; stage < 3; ++stage) {
        const std::size_t axis = (k + stage) % 3;
        const auto part = std::llround(fractions[k] * 20);
        carried[axis] += part * before * (shape[axis] - 1);
        before *= shape[axis];
      }
    }
    for (std::uint32_t link = 0; link < bytes.size(); ++link) {
      const auto axis =
          static_cast<std::size_t>(slice.topology.AxisOf(LinkId(link)));
      CHECK(2 * bytes[link] == carried[axis]);
    }
  }
}

// All-gather time without latencies, as the share of the bound
// (P-1)/P S/(fewest links of a chip x B), against the efficiencies of 4.5.
double Efficiency(const Slice& slice, const std::string& parameters,
                  CollectiveKind kind = CollectiveKind::kAllGather) {
  int links = 0, chips = 1;
  for (const GridAxis& axis : slice.topology.axes()) {
    chips *= axis.size;
    if (axis.size > 1) links += axis.wrap ? 2 : 1;
  }
  const std::int64_t payload = std::int64_t{chips} * 96'000'000;
  const double bound = (chips - 1.0) / chips * static_cast<double>(payload) /
                       (links * slice.parameters.ici_bandwidth.value());
  return bound / TimeOf(slice, "bucket-rotated" + parameters, kind, payload);
}

TEST_CASE("bucket-rotated: equal parts on unequal axes reach 0.81 to 0.94",
          "[collective][oracle]") {
  struct Row {
    Shape shape;
    double efficiency;
  };
  for (const Row& row : std::vector<Row>{{{4, 8}, 0.886},
                                         {{4, 16}, 0.840},
                                         {{8, 16}, 0.941},
                                         {{3, 9}, 0.812},
                                         {{4, 8, 8}, 0.876}}) {
    CAPTURE(ToText(row.shape));
    CHECK(Efficiency(MakeTorus(row.shape), "") ==
          Approx(row.efficiency).margin(0.0006));
  }
  // Three unequal axes: between these, by order.
  const double efficiency = Efficiency(MakeTorus({4, 4, 8}), "");
  CHECK(efficiency > 0.8405);
  CHECK(efficiency < 0.8645);
}

TEST_CASE("bucket-rotated: balanced parts in batches approach the bound",
          "[collective][oracle]") {
  struct Row {
    Shape shape;
    std::vector<bool> wrap;
    std::vector<std::pair<int, double>> by_batches;
  };
  const std::vector<bool> none = {false, false}, both = {true, true};
  const std::vector<bool> three = {true, true, true};
  const std::vector<Row> rows = {
      {{4, 8}, both, {{1, 0.724}, {2, 0.869}, {4, 0.965}, {16, 1.000}}},
      {{4, 16}, both, {{1, 0.652}, {2, 0.801}, {4, 0.903}, {16, 0.999}}},
      {{4, 4, 8}, three, {{1, 0.813}, {2, 0.940}, {4, 0.993}}},
      {{4, 4}, {true, false}, {{1, 0.556}, {4, 0.869}, {16, 0.999}}},
      {{4, 8}, {false, true}, {{1, 0.876}, {4, 1.000}, {16, 1.000}}},
      {{4, 8}, {true, false}, {{1, 0.506}, {4, 0.748}, {16, 0.863}}},
      {{4, 8}, none, {{1, 0.711}, {4, 0.959}, {16, 1.000}}},
      {{3, 5}, none, {{1, 0.644}, {4, 0.945}, {16, 1.000}}},
      {{8, 8}, none, {{1, 0.955}, {4, 1.000}, {16, 1.000}}},
      {{4, 4, 4}, {false, false, false}, {{1, 0.926}, {4, 1.000}, {16, 1.000}}},
      {{2, 4, 4}, {false, true, true}, {{1, 0.853}, {4, 1.000}, {16, 1.000}}},
      {{4, 4, 2}, {false, false, false}, {{1, 0.525}, {4, 0.756}, {16, 0.849}}},
      {{2, 8}, none, {{1, 0.502}, {4, 0.746}, {16, 0.860}}}};
  // The table has three digits, and payloads that parts do not always divide.
  constexpr double kMargin = 0.0011;
  for (const Row& row : rows) {
    const Slice slice = MakeGridOf(row.shape, row.wrap);
    for (const auto& [batches, efficiency] : row.by_batches) {
      CAPTURE(slice.spec, batches);
      const double found = Efficiency(
          slice, ":fractions=balanced,batches=" + std::to_string(batches));
      CHECK(found == Approx(efficiency).margin(kMargin));
    }
    const double scattered = Efficiency(slice, ":fractions=balanced,batches=8",
                                        CollectiveKind::kReduceScatter);
    CAPTURE(slice.spec, scattered);
    CHECK(scattered <= 1 + 1e-9);
    // "0.90 to 1.00 with 8 batches" leaves out the rows that need 16 and more.
    if (row.by_batches.back().second > 0.99) CHECK(scattered > 0.895);
  }
}

TEST_CASE("bucket-rotated: equal 4x4 and mixed parts cover the whole payload",
          "[collective][property]") {
  // What a part of fraction 0 would carry is not sent.
  const Slice slice = MakeTorus({4, 4});
  const Schedule schedule =
      LowerOn(slice, Spec("bucket-rotated:fractions=1/0"),
              OnAllChips(CollectiveKind::kAllGather, 1600, slice))
          .schedule;
  const Schedule bucket =
      LowerOn(slice, Spec("bucket"),
              OnAllChips(CollectiveKind::kAllGather, 1600, slice))
          .schedule;
  CHECK(schedule.transfers() == bucket.transfers());
  CHECK(LinkBytes(schedule, slice.topology) ==
        LinkBytes(bucket, slice.topology));
}

TEST_CASE("bucket-rotated: lanes are FIFO by batch", "[collective]") {
  // Without batches in the lane's tag, a lane sends batch 0's transfers of a
  // stage before those of batch 1, and these before its next stage.
  const Slice slice = MakeTorus({4, 4});
  const Lowered lowered = LowerOn(
      slice, Spec("bucket-rotated:batches=3"),
      OnAllChips(CollectiveKind::kAllReduce, 16 * 2 * 3 * 2 * 5, slice));
  const auto per_owner =
      static_cast<std::uint32_t>(lowered.program.split.sub_chunks());
  REQUIRE(per_owner == 2 * 3 * 2);
  // Per lane (chip, tag) and stage, batches never fall.
  std::map<std::pair<std::uint32_t, int>, std::vector<std::uint32_t>> batches;
  for (std::uint32_t op = 0; op < lowered.schedule.size(); ++op) {
    const auto chunks =
        ChunkIdsOf(lowered.schedule, OpId(op), slice.topology, per_owner);
    batches[{lowered.schedule.src(OpId(op)).value(),
             lowered.schedule.lane(OpId(op))}]
        .push_back(chunks[0] % per_owner / 2 % 3);
  }
  // 2 parts x 2 axes x 2 signs; each runs RS and AG: 2 steps per batch each.
  CHECK(batches.size() == 16 * 8);
  for (const auto& [lane, order] : batches) {
    CHECK(order == std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2,  //
                                              0, 0, 1, 1, 2, 2});
  }
}

}  // namespace
}  // namespace podsim
