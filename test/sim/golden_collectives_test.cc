// Every case of test/data/golden_collectives.json: values computed by an
// independent oracle (its schema is explained in test/data/README.md).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "collective/groups.h"
#include "collective/lowering.h"
#include "collective/tree.h"
#include "cost/bounds.h"
#include "cost/closed_form.h"
#include "engine/engine.h"
#include "schedule/instantiate.h"
#include "schedule/verifier.h"
#include "test/support/golden_case.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-9;  // relative
constexpr std::size_t kCases = 658;
constexpr std::size_t kFolded = 28;

struct Totals {
  std::int64_t byte_hops = 0;
  std::int64_t max_link_bytes = 0;
};

Totals Count(const Schedule& schedule, std::uint32_t links) {
  Totals totals;
  std::vector<std::int64_t> bytes(links);
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    if (schedule.kind(OpId(op)) != OpKind::kTransfer) continue;
    for (const LinkId link : schedule.route(OpId(op))) {
      bytes[link.value()] += schedule.bytes(OpId(op)).value();
      totals.byte_hops += schedule.bytes(OpId(op)).value();
    }
  }
  for (const std::int64_t sum : bytes) {
    totals.max_link_bytes = std::max(totals.max_link_bytes, sum);
  }
  return totals;
}

// The case's own trees, by parents; empty: it has none.
Trees MakeCaseTrees(const json& test, const Collective& collective,
                    const Slice& slice) {
  if (!test["params"].contains("trees")) return {};
  Trees trees;
  for (const auto& group : GroupsOf(collective, slice.topology)) {
    trees.emplace_back();
    for (const json& parent : test["params"]["trees"]) {
      trees.back().push_back(
          MakeTree(parent.get<std::vector<int>>(), group, slice.topology));
    }
  }
  return trees;
}

WholeSchedule MakeCaseWhole(const LoweringSpec& spec,
                            const Collective& collective, const Trees& trees,
                            const Slice& slice) {
  if (trees.empty()) return MakeWhole(slice, spec, collective);
  return BuildPipeline(collective, GroupsOf(collective, slice.topology), trees,
                       spec.chunks);
}

// Of trees that share no link the formula with their own depth.
std::optional<Seconds> CaseClosedForm(const LoweringSpec& spec,
                                      const Collective& collective,
                                      const Trees& trees, const Slice& slice) {
  if (trees.empty()) return ClosedForm(spec, collective, slice);
  if (spec.edge_copies > 1) return std::nullopt;
  int depth = 0;
  for (const Tree& tree : trees[0]) {
    depth = std::max(depth, Depth(tree.parent));
  }
  return PipelineTime(collective, slice, depth,
                      static_cast<int>(trees[0].size()), spec.chunks);
}

// The oracle of these rows has none of those that couple hops with bytes or
// issues; golden_latency.json has (test/cost/latency_bounds_test.cc).
bool IsLater(const std::string& name) {
  return name == "front" || name == "issue" || name == "horizon";
}

void CheckBounds(const Bounds& bounds, const json& test) {
  std::map<std::string, double> found;
  double largest = 0;
  for (const BoundComponent& bound : bounds.components) {
    CHECK(bound.time.value() <= test["time_s"].get<double>() * (1 + 1e-9));
    if (IsLater(bound.name)) continue;
    found[bound.name] = bound.time.value();
    largest = std::max(largest, bound.time.value());
  }
  CHECK(Near(largest, test["bound_s"].get<double>()));
  const auto expected = test["bound"].get<std::map<std::string, double>>();
  CHECK(found.size() == expected.size());
  for (const auto& [name, seconds] : expected) {
    CAPTURE(name, seconds, found[name]);
    CHECK(Near(found[name], seconds));
  }
}

TEST_CASE("every golden collective has the oracle's time, bounds and traffic",
          "[sim][oracle]") {
  std::size_t cases = 0;
  ForEachGoldenCase([&](const json& test) {
    ++cases;
    CAPTURE(test["id"].get<std::string>(),
            test["algorithm"].get<std::string>());
    const Slice slice = MakeCaseSlice(test);
    const Collective collective = MakeCaseCollective(test, slice);
    const LoweringSpec spec = MakeCaseSpec(test);
    REQUIRE(WhyNot(spec, collective, slice.topology).value_or("") == "");
    const Trees trees = MakeCaseTrees(test, collective, slice);
    const auto [schedule, meaning] =
        MakeCaseWhole(spec, collective, trees, slice);
    const Violations violations = VerifyFull(schedule, meaning, slice.topology);
    CAPTURE(violations.empty() ? "" : violations.texts().front());
    CHECK(violations.empty());
    const Timeline timeline = RunPod(schedule, MakeNetwork(slice));
    CHECK(Near(timeline.makespan, test["time_s"].get<double>()));

    const auto closed = CaseClosedForm(spec, collective, trees, slice);
    // The oracle leaves it out of some one-chip rows; where we state one it
    // must be the time.
    if (!test["closed_form_s"].is_null()) {
      REQUIRE(closed.has_value());
      CHECK(Near(closed->value(), test["closed_form_s"].get<double>()));
    } else if (closed) {
      CHECK(Near(closed->value(), test["time_s"].get<double>()));
    }

    const Bounds bounds = ComputeBounds(collective, slice);
    // The oracle has none over DCN.
    if (test["bound_s"].is_null()) {
      CHECK(bounds.binding().time.value() <= timeline.makespan * (1 + 1e-9));
    } else {
      CheckBounds(bounds, test);
    }

    const Totals totals = Count(schedule, slice.topology.port_ids());
    CHECK(schedule.transfers() == test["transfers"].get<std::uint32_t>());
    CHECK(totals.byte_hops == test["byte_hops"].get<std::int64_t>());
    CHECK(totals.max_link_bytes == test["max_link_bytes"].get<std::int64_t>());
  });
  CHECK(cases == kCases);
}

// Pods: a schedule of every chip would be too large.
TEST_CASE(
    "folded golden collectives have the oracle's time, bounds and traffic",
    "[sim][oracle]") {
  std::size_t cases = 0;
  const auto visit = [&](const json& test) {
    ++cases;
    CAPTURE(test["id"].get<std::string>(),
            test["algorithm"].get<std::string>());
    const Slice slice = MakeCaseSlice(test);
    const Collective collective = MakeCaseCollective(test, slice);
    const LoweringSpec spec = Resolve(MakeCaseSpec(test), collective, slice);
    REQUIRE(HasProgram(spec, collective, slice.topology));
    const Program program = Lower(spec, collective, slice.topology);
    CHECK(VerifyOrbit(program, slice.topology).empty());
    const Fold fold{std::vector<int>(slice.shape.size(), 1)};
    const FoldedGrid grid(slice.topology, fold);
    const Schedule schedule =
        Instantiate(program, slice.topology, fold, collective.payload);
    const Timeline timeline = RunPod(schedule, MakeNetwork(slice, grid));
    CHECK(Near(timeline.makespan, test["time_s"].get<double>()));
    if (!test["closed_form_s"].is_null()) {
      const auto closed = ClosedForm(spec, collective, slice);
      REQUIRE(closed.has_value());
      CHECK(Near(closed->value(), test["closed_form_s"].get<double>()));
    }
    std::map<std::string, double> found;
    for (const BoundComponent& bound :
         ComputeBounds(collective, slice).components) {
      found[bound.name] = bound.time.value();
    }
    for (const auto& [name, seconds] :
         test["bound"].get<std::map<std::string, double>>()) {
      CAPTURE(name, seconds, found[name]);
      CHECK(Near(found[name], seconds));
    }
    const Totals totals = Count(schedule, grid.link_ids());
    CHECK(std::uint64_t{schedule.transfers()} * grid.chips_per_site() ==
          test["transfers"].get<std::uint64_t>());
    CHECK(totals.byte_hops * grid.chips_per_site() ==
          test["byte_hops"].get<std::int64_t>());
    CHECK(totals.max_link_bytes == test["max_link_bytes"].get<std::int64_t>());
  };
  ForEachGoldenCase(visit, /*folded=*/true);
  CHECK(cases == kFolded);
}

}  // namespace
}  // namespace podsim
