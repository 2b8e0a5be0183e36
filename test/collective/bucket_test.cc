#include <catch2/catch.hpp>
#include <numeric>

#include "engine/engine.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1e-6, .overhead = 3e-7};
constexpr double kStartUp = kRates.alpha + kRates.overhead;

// 4.1 to 4.4: all-gather of `payload` bytes along one axis.
double AxisTime(int n, bool wrap, const std::string& primitive,
                double payload) {
  const double time = payload / kRates.bandwidth;
  if (!wrap || primitive == "ring") return (n - 1) * (kStartUp + time / n);
  if (primitive == "split") return (n - 1) * (kStartUp + time / (2 * n));
  return n / 2 * kStartUp + (n - 1) / (2.0 * n) * time;
}

int AxisSteps(int n, bool wrap, const std::string& primitive) {
  return wrap && primitive == "short" ? n / 2 : n - 1;
}

TEST_CASE("bucket: the axes' times add up, on what is held by then",
          "[collective][property]") {
  const std::string primitive = GENERATE("ring", "split", "short");
  const CollectiveKind kind = GENERATE(from_range(kLoweredKinds));
  for (const Shape& shape : std::vector<Shape>{
           {2, 2}, {3, 5}, {4, 6}, {6, 4}, {4, 1, 3}, {2, 3, 4}, {4, 4, 4}}) {
    for (const auto& wrap : AllWraps(shape)) {
      const Slice slice = MakeGridOf(shape, wrap, kRates);
      const int chips = ChipsOf(shape);
      const std::int64_t payload = std::int64_t{2 * chips} * 5003;
      CAPTURE(slice.spec, primitive, ToText(kind));
      const Schedule schedule =
          LowerOn(slice, Spec("bucket:axis_primitive=" + primitive),
                  OnAllChips(kind, payload, slice))
              .schedule;
      const int phases = kind == CollectiveKind::kAllReduce ? 2 : 1;
      double time = 0;
      int steps = 0;
      double held = static_cast<double>(payload) / chips;
      for (std::size_t a = 0; a < shape.size(); ++a) {
        held *= shape[a];
        time += AxisTime(shape[a], wrap[a], primitive, held);
        steps += AxisSteps(shape[a], wrap[a], primitive);
      }
      CHECK(Near(RunPod(schedule, MakeNetwork(slice)).makespan, phases * time));
      CHECK(StepsOf(schedule) == phases * steps);
    }
  }
}

TEST_CASE("bucket: a torus link carries (n-1)/2 of what was held before it",
          "[collective]") {
  // 3x4x5 torus, all-gather: per direction of axis j, m (n_j - 1)/2 shards.
  const Shape shape = {3, 4, 5};
  const Slice slice = MakeTorus(shape);
  const std::int64_t shard = 2 * 11;
  const auto bytes = LinkBytes(
      LowerOn(slice, Spec("bucket"),
              OnAllChips(CollectiveKind::kAllGather, 60 * shard, slice))
          .schedule,
      slice.topology);
  for (std::uint32_t link = 0; link < bytes.size(); ++link) {
    const int axis = slice.topology.AxisOf(LinkId(link));
    const std::int64_t before =
        std::accumulate(shape.begin(), shape.begin() + axis, std::int64_t{1},
                        std::multiplies<>());
    CHECK(bytes[link] ==
          before * (shape[static_cast<std::size_t>(axis)] - 1) * shard / 2);
  }
}

TEST_CASE("bucket: transfers are those of the lines of every axis",
          "[collective]") {
  // Short rings of 3 (odd: n(n-1)) and 4 (even: n^2), a line of 5 (n(n-1)).
  const Slice slice = MakeGridOf({3, 4, 5}, {true, true, false});
  const Schedule schedule =
      LowerOn(slice, Spec("bucket"),
              OnAllChips(CollectiveKind::kReduceScatter, 120, slice))
          .schedule;
  CHECK(schedule.transfers() == 20 * 6 + 15 * 16 + 12 * 20);
}

TEST_CASE("bucket: sub-groups run at once, as fast as one alone",
          "[collective]") {
  const Shape shape = {4, 3, 5};
  const Slice slice = MakeTorus(shape, kRates);
  const std::int64_t payload = 2 * 20 * 1009;
  const Schedule schedule = LowerOn(slice, Spec("bucket"),
                                    {.kind = CollectiveKind::kAllGather,
                                     .payload = Bytes(payload),
                                     .axes = {0, 2}})
                                .schedule;
  const double shard = static_cast<double>(payload) / 20;
  CHECK(Near(RunPod(schedule, MakeNetwork(slice)).makespan,
             AxisTime(4, true, "short", 4 * shard) +
                 AxisTime(5, true, "short", 20 * shard)));
}

}  // namespace
}  // namespace podsim
