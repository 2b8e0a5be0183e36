#ifndef PODSIM_TEST_SUPPORT_GOLDEN_CASE_H_
#define PODSIM_TEST_SUPPORT_GOLDEN_CASE_H_

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "collective/fx_plan.h"
#include "collective/groups.h"
#include "collective/lowering.h"
#include "topology/slice.h"

namespace podsim {

// Our name of the case's lowering: `direct` of a ragged all-to-all is a row of
// its own.
inline std::string LoweringNameOf(const nlohmann::json& test) {
  return test["collective"] == "ragged-all-to-all"
             ? "ragged"
             : test["algorithm"].get<std::string>();
}

// Whether the table has the case's lowering for its kind.
inline bool IsInTable(const nlohmann::json& test) {
  const Lowering* row = FindLowering(LoweringNameOf(test));
  if (row == nullptr) return false;
  for (const CollectiveKind kind : row->kinds) {
    if (test["collective"] == ToText(kind)) return true;
  }
  return false;
}

// The cases of test/data/golden_collectives.json (its README has the schema):
// those with a schedule of every chip, or those simulated folded.
template <class Visit>
void ForEachGoldenCase(Visit visit, bool folded = false) {
  std::ifstream file(PODSIM_TEST_DATA "/golden_collectives.json");
  const auto golden = nlohmann::json::parse(file);
  for (const nlohmann::json& test : golden["cases"]) {
    if (IsInTable(test) && test.value("folded", false) == folded) visit(test);
  }
}

inline Slice MakeCaseSlice(const nlohmann::json& test) {
  std::vector<GridAxis> axes;
  const nlohmann::json& topology = test["topology"];
  for (std::size_t a = 0; a < topology["dims"].size(); ++a) {
    const int size = topology["dims"][a].get<int>();
    axes.push_back(
        {.size = size, .wrap = topology["wrap"][a].get<bool>() && size > 1});
  }
  const int slices = test["params"].value("slices", 1);
  if (slices > 1) axes.push_back({.size = slices, .wrap = false, .ici = false});
  Parameters parameters;
  parameters.ici_bandwidth =
      BytesPerSecond(test["bandwidth_bytes_per_s"].get<double>());
  parameters.ici_hop_latency = Seconds(test["alpha_s"].get<double>());
  parameters.ici_message_overhead = Seconds(test["overhead_s"].get<double>());
  Slice slice{.spec = test["id"].get<std::string>(),
              .generation = "ideal",
              .shape = topology["dims"].get<Shape>(),
              .topology = Topology::MakeGrid(
                  axes, topology["twist"].get<bool>(), parameters.ici_bandwidth,
                  parameters.ici_hop_latency),
              .parameters = parameters,
              .warnings = {}};
  if (slices > 1) {
    const auto rate = test["params"]["dcn_bandwidth_bytes_per_s"].get<double>();
    slice.topology.SetDcn({.bandwidth = BytesPerSecond(rate),
                           .latency = 2 * parameters.ici_hop_latency});
  }
  for (const nlohmann::json& link :
       topology.value("dead_links", nlohmann::json::array())) {
    slice.topology.Kill(LinkId(link.get<std::uint32_t>()));
  }
  return slice;
}

// The text of a plan given as parts of rounds of [axis, radix, form].
inline std::string PlanTextOf(const nlohmann::json& plan) {
  std::vector<std::vector<std::string>> radices;
  std::string suffix;
  for (const nlohmann::json& round : plan[0]) {
    for (const nlohmann::json& factor : round) {
      const auto axis = factor[0].get<std::size_t>();
      if (axis >= radices.size()) radices.resize(axis + 1);
      radices[axis].push_back(std::to_string(factor[1].get<int>()));
      if (factor[2] == "a") suffix = "a";
    }
  }
  std::vector<std::string> axes;
  for (const auto& axis : radices) axes.push_back(Join(axis, "."));
  suffix = "*" + std::to_string(plan.size()) + suffix;
  for (const char* merge : {"", ":L", ":F2", ":L2"}) {
    const std::string text = Join(axes, "/") + merge + suffix;
    nlohmann::json meant = nlohmann::json::array();
    for (const FxPart& part : MakeFxPlan(ParseFxText(text, "")).parts) {
      meant.push_back(nlohmann::json::array());
      for (const FxRound& round : part) {
        meant.back().push_back(nlohmann::json::array());
        for (const FxFactor& factor : round) {
          meant.back().back().push_back(
              {factor.axis, factor.radix, suffix.back() == 'a' ? "a" : "c"});
        }
      }
    }
    if (meant == plan) return text;
  }
  return "none: " + plan.dump();
}

inline LoweringSpec MakeCaseSpec(const nlohmann::json& test) {
  LoweringSpec spec{.name = LoweringNameOf(test), .fractions = {}};
  const nlohmann::json& params = test["params"];
  if (params.value("axis_primitive", "short") == "ring") {
    spec.axis_primitive = AxisPrimitive::kRing;
  }
  spec.batches = params.value("batches", 1);
  spec.chunks = params.value("chunks", 0);
  spec.window = params.value("window", 0);
  spec.sub_chunks = params.value("sub_chunks", 0);
  spec.ports = params.value("ports", 0);
  spec.far_first = params.value("far_first", false);
  spec.bidirectional = params.value("bidirectional", false);
  spec.step_compute = Seconds(params.value("step_compute_s", 0.0));
  spec.edge_copies = params.value("edge_copies", 0);
  if (params.contains("plan")) spec.plan = PlanTextOf(params["plan"]);
  spec.cut = params.value("cut", -1);
  if (params.contains("fractions") && !params["fractions"].is_null()) {
    spec.fractions = params["fractions"].get<std::vector<double>>();
  }
  return spec;
}

inline Collective MakeCaseCollective(const nlohmann::json& test,
                                     const Slice& slice) {
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
  if (collective.kind == CollectiveKind::kRaggedAllToAll) {
    for (const nlohmann::json& row : test["params"]["bytes"]) {
      collective.matrix.emplace_back();
      for (const nlohmann::json& bytes : row) {
        collective.matrix.back().emplace_back(bytes.get<std::int64_t>());
      }
    }
  }
  if (test["params"].contains("shift")) {
    collective.shift =
        MakeShift(test["params"]["axis"].get<int>(),
                  test["params"]["shift"].get<int>(), slice.topology, "");
  } else if (test["params"].contains("pairs")) {
    for (const nlohmann::json& pair : test["params"]["pairs"]) {
      collective.pairs.push_back({ChipId(pair[0].get<std::uint32_t>()),
                                  ChipId(pair[1].get<std::uint32_t>())});
    }
  }
  return collective;
}

}  // namespace podsim

#endif  // PODSIM_TEST_SUPPORT_GOLDEN_CASE_H_
