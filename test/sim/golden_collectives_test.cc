// Every case of test/data/golden_collectives.json: values computed by an
// independent oracle (its schema is explained in test/data/README.md).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "collective/groups.h"
#include "collective/lowering.h"
#include "cost/bounds.h"
#include "cost/closed_form.h"
#include "engine/engine.h"
#include "schedule/instantiate.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-9;  // relative
constexpr std::size_t kCases = 389;

Slice MakeCaseSlice(const json& test) {
  std::vector<GridAxis> axes;
  const json& topology = test["topology"];
  for (std::size_t a = 0; a < topology["dims"].size(); ++a) {
    const int size = topology["dims"][a].get<int>();
    axes.push_back(
        {.size = size, .wrap = topology["wrap"][a].get<bool>() && size > 1});
  }
  Parameters parameters;
  parameters.ici_bandwidth =
      BytesPerSecond(test["bandwidth_bytes_per_s"].get<double>());
  parameters.ici_hop_latency = Seconds(test["alpha_s"].get<double>());
  parameters.ici_message_overhead = Seconds(test["overhead_s"].get<double>());
  Slice slice{.spec = test["id"].get<std::string>(),
          .generation = "ideal",
          .shape = topology["dims"].get<Shape>(),
          .topology = Topology::MakeGrid(axes, topology["twist"].get<bool>(),
                                         parameters.ici_bandwidth,
                                         parameters.ici_hop_latency),
          .parameters = parameters,
          .warnings = {}};
  for (const json& link : topology.value("dead_links", json::array())) {
    slice.topology.Kill(LinkId(link.get<std::uint32_t>()));
  }
  return slice;
}

LoweringSpec MakeCaseSpec(const json& test) {
  LoweringSpec spec{.name = test["algorithm"].get<std::string>(),
                    .fractions = {}};
  const json& params = test["params"];
  if (params.value("axis_primitive", "short") == "ring") {
    spec.axis_primitive = AxisPrimitive::kRing;
  }
  spec.batches = params.value("batches", 1);
  spec.chunks = params.value("chunks", 0);
  if (params.contains("fractions") && !params["fractions"].is_null()) {
    spec.fractions = params["fractions"].get<std::vector<double>>();
  }
  return spec;
}

struct Totals {
  std::int64_t byte_hops = 0;
  std::int64_t max_link_bytes = 0;
};

Totals Count(const Schedule& schedule, std::uint32_t links) {
  Totals totals;
  std::vector<std::int64_t> bytes(links);
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
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

TEST_CASE("every golden collective has the oracle's time, bounds and traffic",
          "[sim][oracle]") {
  std::ifstream file(PODSIM_TEST_DATA "/golden_collectives.json");
  const json golden = json::parse(file);
  REQUIRE(golden["cases"].size() == kCases);
  for (const json& test : golden["cases"]) {
    CAPTURE(test["id"].get<std::string>(),
            test["algorithm"].get<std::string>());
    const Slice slice = MakeCaseSlice(test);
    Collective collective{
        .kind = ParseCollectiveKind(test["collective"].get<std::string>(), ""),
        .payload = Bytes(test["payload_bytes"].get<std::int64_t>()),
        .axes = AllAxes(slice.topology)};
    if (test["group"].contains("axes")) {
      collective.axes = test["group"]["axes"].get<std::vector<int>>();
    }
    if (test.contains("root")) {
      collective.root = ChipId(test["root"].get<std::uint32_t>());
    }
    if (test["params"].contains("shift")) {
      collective.shift =
          MakeShift(test["params"]["axis"].get<int>(),
                    test["params"]["shift"].get<int>(), slice.topology, "");
    } else if (test["params"].contains("pairs")) {
      for (const json& pair : test["params"]["pairs"]) {
        collective.pairs.push_back({ChipId(pair[0].get<std::uint32_t>()),
                                    ChipId(pair[1].get<std::uint32_t>())});
      }
    }
    const LoweringSpec spec = MakeCaseSpec(test);
    REQUIRE(WhyNot(spec, collective, slice.topology).value_or("") == "");
    const auto [schedule, meaning] = MakeWhole(slice, spec, collective);
    const Violations violations = VerifyFull(schedule, meaning, slice.topology);
    CAPTURE(violations.empty() ? "" : violations.texts().front());
    CHECK(violations.empty());
    const Timeline timeline = RunPod(schedule, MakeNetwork(slice));
    CHECK(Near(timeline.makespan, test["time_s"].get<double>()));

    const auto closed = ClosedForm(spec, collective, slice);
    // The oracle leaves it out of some one-chip rows; where we state one it
    // must be the time.
    if (!test["closed_form_s"].is_null()) {
      REQUIRE(closed.has_value());
      CHECK(Near(closed->value(), test["closed_form_s"].get<double>()));
    } else if (closed) {
      CHECK(Near(closed->value(), test["time_s"].get<double>()));
    }

    const Bounds bounds = ComputeBounds(collective, slice);
    CHECK(Near(bounds.binding().time.value(), test["bound_s"].get<double>()));
    std::map<std::string, double> found;
    for (const BoundComponent& bound : bounds.components) {
      found[bound.name] = bound.time.value();
    }
    const auto expected = test["bound"].get<std::map<std::string, double>>();
    CHECK(found.size() == expected.size());
    for (const auto& [name, seconds] : expected) {
      CAPTURE(name, seconds, found[name]);
      CHECK(Near(found[name], seconds));
    }

    const Totals totals = Count(schedule, slice.topology.link_ids());
    CHECK(schedule.transfers() == test["transfers"].get<std::uint32_t>());
    CHECK(totals.byte_hops == test["byte_hops"].get<std::int64_t>());
    CHECK(totals.max_link_bytes == test["max_link_bytes"].get<std::int64_t>());
  }
}

}  // namespace
}  // namespace podsim
