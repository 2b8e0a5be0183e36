// Every case of test/data/golden_mesh.json: tree-packing and detour on meshes,
// mixed slices and around faults, by an independent oracle (its schema is
// explained in test/data/README.md).
#include <catch2/catch.hpp>
#include <map>

#include "collective/tree_packing.h"
#include "cost/bounds.h"
#include "engine/engine.h"
#include "schedule/verifier.h"
#include "test/support/golden_case.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

using nlohmann::json;

// A chip without live links takes no part.
Slice MakeMeshSlice(const json& test) {
  Slice slice = MakeCaseSlice(test);
  if (!test["group"].contains("live")) return slice;
  for (int id = 0; id < slice.topology.chips(); ++id) {
    const ChipId chip(static_cast<std::uint32_t>(id));
    int live = 0;
    slice.topology.ForEachLiveLinkFrom(chip, [&](LinkId) { ++live; });
    if (live == 0) slice.topology.Kill(chip);
  }
  return slice;
}

LoweringSpec MakeMeshSpec(const json& test) {
  LoweringSpec spec = MakeCaseSpec(test);
  const json& params = test["params"];
  spec.slack = params.value("slack", -1);
  spec.lat = params.value("lat", -1);
  spec.passes = params.value("passes", -1);
  spec.parts = params.value("parts", 0);
  spec.power = params.value("power", 0);
  const std::string roots = params.value("roots", "all");
  spec.roots = roots == "mix"   ? Roots::kMix
               : roots == "all" ? Roots::kAll
                                : Roots::kCentre;
  return spec;
}

void CheckTraffic(const Schedule& schedule, const Topology& topology,
                  const json& test) {
  std::int64_t byte_hops = 0;
  std::vector<std::int64_t> bytes(topology.link_ids());
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    for (const LinkId link : schedule.route(OpId(op))) {
      bytes[link.value()] += schedule.bytes(OpId(op)).value();
      byte_hops += schedule.bytes(OpId(op)).value();
    }
  }
  CHECK(schedule.transfers() == test["transfers"].get<std::uint32_t>());
  CHECK(byte_hops == test["byte_hops"].get<std::int64_t>());
  CHECK(*std::max_element(bytes.begin(), bytes.end()) ==
        test["max_link_bytes"].get<std::int64_t>());
  CHECK(schedule.one_hop() == test["single_hop"].get<bool>());
}

// Whether no two transfers are ever on one link; touching within the tolerance
// does not count.
bool ContentionFree(const Schedule& schedule, const Timeline& timeline,
                    const Slice& slice) {
  std::vector<std::vector<std::pair<double, double>>> busy(
      slice.topology.link_ids());
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    for (const LinkId link : schedule.route(OpId(op))) {
      busy[link.value()].emplace_back(timeline.start[op], timeline.end[op]);
    }
  }
  for (auto& spans : busy) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t k = 1; k < spans.size(); ++k) {
      if (spans[k].first < spans[k - 1].second * (1 - 1e-9)) return false;
    }
  }
  return true;
}

void CheckBounds(const Bounds& bounds, const json& test) {
  std::map<std::string, double> found;
  for (const BoundComponent& bound : bounds.components) {
    found[bound.name] = bound.time.value();
  }
  const auto expected = test["bound"].get<std::map<std::string, double>>();
  double largest = 0;
  for (const auto& [name, seconds] : expected) {
    CAPTURE(name, seconds, found[name]);
    CHECK(Near(found[name], seconds));
    largest = std::max(largest, found[name]);
  }
  CHECK(Near(largest, test["bound_s"].get<double>()));
  // The file is older than these.
  for (const auto& [name, seconds] : found) {
    const bool newer = name == "front" || name == "issue" || name == "horizon";
    CAPTURE(name, seconds);
    CHECK(newer != (expected.count(name) > 0));
    if (newer) CHECK(seconds <= test["time_s"].get<double>() * (1 + 1e-9));
  }
}

TEST_CASE("every golden mesh collective has the oracle's time and traffic",
          "[engine][oracle][golden]") {
  std::ifstream file(PODSIM_TEST_DATA "/golden_mesh.json");
  const auto golden = json::parse(file);
  int cases = 0;
  int closed_forms = 0;
  for (const json& test : golden["cases"]) {
    ++cases;
    CAPTURE(test["id"].get<std::string>(), test["collective"].dump(),
            test["topology"].dump(), test["params"].dump());
    const Slice slice = MakeMeshSlice(test);
    const Collective collective = MakeCaseCollective(test, slice);
    const LoweringSpec spec = MakeMeshSpec(test);
    REQUIRE(WhyNot(spec, collective, slice.topology).value_or("") == "");
    const auto [schedule, meaning] = MakeWhole(slice, spec, collective);
    const Violations violations = VerifyFull(schedule, meaning, slice.topology);
    CAPTURE(violations.empty() ? "" : violations.texts().front());
    CHECK(violations.empty());
    CheckTraffic(schedule, slice.topology, test);
    const Timeline timeline = RunPod(schedule, MakeNetwork(slice));
    CHECK(Near(timeline.makespan, test["time_s"].get<double>()));
    CheckBounds(ComputeBounds(collective, slice), test);
    if (spec.name == "tree-packing") {
      CHECK(ContentionFree(schedule, timeline, slice) ==
            test["contention_free"].get<bool>());
    }
    if (test["closed_form_s"].is_null()) continue;
    ++closed_forms;
    const LoweringSpec resolved = Resolve(spec, collective, slice);
    const int chunks =
        resolved.chunks * resolved.sub_chunks *
        (collective.kind == CollectiveKind::kAllGather ||
                 collective.kind == CollectiveKind::kReduceScatter
             ? GroupSize(collective, slice.topology)
             : 1);
    const double round = test["alpha_s"].get<double>() +
                         test["overhead_s"].get<double>() +
                         test["payload_bytes"].get<double>() / chunks /
                             test["bandwidth_bytes_per_s"].get<double>();
    CHECK(Near(TreePackingRounds(collective, slice.topology, resolved) * round,
               test["closed_form_s"].get<double>()));
  }
  CHECK(cases == 197);
  CHECK(closed_forms == 102);
}

}  // namespace
}  // namespace podsim
