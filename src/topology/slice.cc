#include "topology/slice.h"

#include <algorithm>

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"
#include "base/text_file.h"
#include "topology/astra_network.h"
#include "topology/distance.h"
#include "topology/fault.h"

namespace podsim {
namespace {

constexpr char kAxisLetters[] = "xyz";

std::string Listed(const std::vector<Shape>& shapes) {
  std::vector<std::string> texts;
  for (const Shape& shape : shapes) texts.push_back(ToText(shape));
  return Join(texts, ", ");
}

std::string AxisWhere(const GridRequest& grid, std::size_t axis) {
  return axis < grid.axis_where.size() ? grid.axis_where[axis]
                                       : grid.shape_where;
}

void RequireLegal(const Generation& generation, const GridRequest& grid) {
  for (std::size_t a = 0; a < grid.shape.size(); ++a) {
    if (grid.shape[a] < 1) {
      throw InputError(AxisWhere(grid, a),
                       "expected an axis of at least 1 chip, got " +
                           std::to_string(grid.shape[a]) + " in " +
                           ToText(grid.shape));
    }
  }
  if (static_cast<int>(grid.shape.size()) > generation.axes) {
    throw InputError(grid.shape_where, generation.name +
                                           " slices have at most " +
                                           std::to_string(generation.axes) +
                                           " axes, got " + ToText(grid.shape));
  }
  double chips = 1;
  for (const int size : grid.shape) chips *= size;
  const int most = generation.max_chips > 0
                       ? std::min(generation.max_chips, kMaxChips)
                       : kMaxChips;
  if (chips > kMaxChips || !IsLegal(generation, grid.shape)) {
    const std::string limit =
        chips > most ? " (more than " + std::to_string(most) + " chips)" : "";
    const std::vector<Shape> near =
        LegalNear(generation, grid.shape, /*twisted=*/false, 6);
    throw InputError(
        grid.shape_where,
        generation.name + " has no slice of shape " + ToText(grid.shape) +
            limit +
            (near.empty() ? "" : "; legal shapes near it: " + Listed(near)));
  }
  if (chips * grid.slices > kMaxChips) {
    throw InputError(
        grid.slices_where,
        std::to_string(grid.slices) + " slices of " + ToText(grid.shape) +
            " have more than " + std::to_string(kMaxChips) +
            " chips; expected at most " +
            std::to_string(kMaxChips / static_cast<int>(chips)) + " slices");
  }
  if (grid.twisted && !IsTwistable(generation, grid.shape)) {
    const std::vector<Shape> near =
        LegalNear(generation, grid.shape, /*twisted=*/true, 6);
    throw InputError(
        grid.twisted_where,
        generation.name + ":" + ToText(grid.shape) + " cannot be twisted" +
            (near.empty()
                 ? "; this generation has no twisted slices"
                 : "; shapes that can (n,n,2n or n,2n,2n): " + Listed(near)));
  }
}

// The axes that wrap; the wrap of one chip means nothing.
std::string WrapText(const Shape& shape, const std::vector<bool>& wrap) {
  std::string letters;
  for (std::size_t a = 0; a < wrap.size(); ++a) {
    if (wrap[a] && shape[a] > 1) letters += kAxisLetters[a];
  }
  return letters;
}

std::string CanonicalSpec(const Generation& generation, const GridRequest& grid,
                          const std::vector<bool>& wrap) {
  std::string spec;
  if (grid.slices > 1) spec = std::to_string(grid.slices) + "*";
  spec += grid.generation + ":" + ToText(grid.shape);
  if (grid.twisted) return spec + ":twisted";
  const std::string letters = WrapText(grid.shape, wrap);
  if (letters == WrapText(grid.shape, DefaultWrap(generation, grid.shape))) {
    return spec;
  }
  return spec + (letters.empty() ? ":mesh" : ":wrap=" + letters);
}

// On a generation with fixed axes the missing ones have size 1.
void AddMissingAxes(const Generation& generation, GridRequest& grid) {
  if (generation.rule == ShapeRule::kAny) return;
  const auto axes = static_cast<std::size_t>(generation.axes);
  if (grid.shape.size() < axes) grid.shape.resize(axes, 1);
  if (!grid.wrap.empty() && grid.wrap.size() < axes) grid.wrap.resize(axes);
}

// One modifier after GEN:SHAPE.
void ApplyModifier(const std::string& modifier, const std::string& where,
                   GridRequest& grid) {
  const std::size_t axes = grid.shape.size();
  if (modifier == "twisted") {
    grid.twisted = true;
    grid.twisted_where = where;
    return;
  }
  if (!grid.wrap.empty()) {
    throw InputError(where, "\"" + modifier +
                                "\" is a second say on the wraps; expected at "
                                "most one of mesh, torus, wrap=AXES");
  }
  if (modifier == "mesh") {
    grid.wrap.assign(axes, false);
  } else if (modifier == "torus") {
    grid.wrap.assign(axes, true);
  } else if (modifier.starts_with("wrap=")) {
    grid.wrap.assign(axes, false);
    for (const char letter : modifier.substr(5)) {
      const auto found = std::string_view(kAxisLetters, axes).find(letter);
      if (found == std::string_view::npos) {
        throw InputError(where, "\"" + modifier + "\": expected axes among " +
                                    std::string(kAxisLetters, axes));
      }
      if (grid.wrap[found]) {
        throw InputError(where, "an axis stands twice in \"" + modifier + "\"");
      }
      grid.wrap[found] = true;
    }
  } else {
    throw InputError(where, "unknown modifier \"" + modifier +
                                "\" in a slice; known: twisted, mesh, torus, "
                                "wrap=AXES (for example wrap=xz)");
  }
}

GridRequest ParseSpec(const SliceRequest& request) {
  const std::string& where = request.spec_where;
  GridRequest grid;
  std::string rest = request.spec;
  if (const auto star = rest.find('*'); star != std::string::npos) {
    grid.slices = ParseCount(rest.substr(0, star), 1, kMaxChips,
                             where + ": the slices before *");
    rest = rest.substr(star + 1);
  }
  const std::vector<std::string> parts = Split(rest, ':');
  if (parts.size() < 2) {
    throw InputError(where,
                     "expected GENERATION:SHAPE such as v5p:4x4x8, or a "
                     "topology file (.json), got \"" +
                         request.spec + "\"");
  }
  grid.generation = parts[0];
  grid.generation_where = grid.shape_where = grid.twisted_where =
      grid.slices_where = where;
  const auto shape = ParseShape(parts[1]);
  if (!shape) {
    throw InputError(where, "expected a shape such as 4x4x8, got \"" +
                                parts[1] + "\" in \"" + request.spec + "\"");
  }
  grid.shape = *shape;
  const Generation generation = FindGeneration(grid.generation, where);
  AddMissingAxes(generation, grid);
  if (static_cast<int>(grid.shape.size()) > generation.axes) {
    RequireLegal(generation, grid);
  }
  for (std::size_t k = 2; k < parts.size(); ++k) {
    ApplyModifier(parts[k], where, grid);
  }
  return grid;
}

// The chips of a host along every axis: as the generation has them or, of
// another number, at most two along x, then y, then z.
std::array<int, 3> HostBlock(const Generation& generation, int chips,
                             const Shape& shape) {
  std::array<int, 3> block = {1, 1, 1};
  int known = 1;
  for (const int size : generation.host_shape) known *= size;
  if (!generation.host_shape.empty() && known == chips) {
    std::copy(generation.host_shape.begin(), generation.host_shape.end(),
              block.begin());
    return block;
  }
  int left = chips;
  for (std::size_t a = 0; a < shape.size() && left > 1; ++a) {
    const bool last = a + 1 == shape.size();
    block[a] = last || a > 0 ? left : (left % 2 == 0 ? 2 : 1);
    block[a] = std::min(block[a], shape[a]);
    left = (left + block[a] - 1) / block[a];
  }
  return block;
}

// How several slices reach each other, if that is known.
void JoinSlices(const Generation& generation, Slice& slice) {
  const Parameters& parameters = slice.parameters;
  if (slice.topology.slices() == 1 || !parameters.dcn_bandwidth) return;
  slice.topology.SetDcn(
      {.bandwidth = *parameters.dcn_bandwidth,
       .latency = parameters.dcn_latency.value_or(Seconds(0)),
       .host = HostBlock(generation, parameters.host_chips.value_or(1),
                         slice.shape)});
}

Slice ReadAstraNetwork(const SliceRequest& request) {
  return MakeAstraSlice(
      ParseAstraNetwork(ReadTextFile(request.spec), request.spec), request);
}

}  // namespace

void ApplyOverrides(Parameters& parameters, const SliceRequest& request,
                    const std::vector<SliceRequest::Override>& file_overrides) {
  for (const auto* list : {&file_overrides, &request.overrides}) {
    for (const SliceRequest::Override& entry : *list) {
      SetParameter(parameters, entry.key, entry.value, entry.where);
    }
  }
  if (request.ideal) MakeIdeal(parameters);
  for (const std::string& set : request.sets) SetParameterText(parameters, set);
}

std::vector<std::string> GenerationWarnings(const Generation& generation) {
  if (!generation.estimated) return {};
  return {"the numbers of " + generation.name +
          " are estimates, see `podsim generations`"};
}

Slice MakeGridSlice(const GridRequest& asked, const SliceRequest& request,
                    const std::vector<SliceRequest::Override>& file_overrides) {
  const Generation generation =
      FindGeneration(asked.generation, asked.generation_where);
  GridRequest grid = asked;
  AddMissingAxes(generation, grid);
  RequireLegal(generation, grid);
  Parameters parameters = generation.parameters;
  ApplyOverrides(parameters, request, file_overrides);
  std::vector<bool> wrap = grid.wrap;
  if (wrap.empty()) {
    wrap = grid.twisted ? std::vector<bool>(grid.shape.size(), true)
                        : DefaultWrap(generation, grid.shape);
  }
  if (grid.twisted &&
      std::find(wrap.begin(), wrap.end(), false) != wrap.end()) {
    throw InputError(grid.twisted_where,
                     "a twisted slice wraps on every axis; remove the wrap "
                     "override or the twist");
  }
  std::vector<GridAxis> axes;
  int chips = 1;
  for (std::size_t a = 0; a < grid.shape.size(); ++a) {
    const bool wraps = wrap[a] && grid.shape[a] > 1;
    axes.push_back({.size = grid.shape[a], .wrap = wraps});
    chips *= grid.shape[a];
  }
  if (grid.slices > 1) {
    axes.push_back({.size = grid.slices, .wrap = false, .ici = false});
  }
  std::vector<std::string> warnings = GenerationWarnings(generation);
  if (generation.warn_above_chips > 0 && chips > generation.warn_above_chips) {
    warnings.push_back(generation.name + ":" + ToText(grid.shape) + " has " +
                       std::to_string(chips) +
                       " chips, more than the largest job of " +
                       std::to_string(generation.warn_above_chips));
  }
  Slice slice{.spec = CanonicalSpec(generation, grid, wrap),
              .generation = generation.name,
              .shape = grid.shape,
              .topology = Topology::MakeGrid(std::move(axes), grid.twisted,
                                             parameters.ici_bandwidth,
                                             parameters.ici_hop_latency),
              .parameters = parameters,
              .warnings = warnings};
  JoinSlices(generation, slice);
  return slice;
}

Slice MakeSlice(const SliceRequest& request) {
  Slice slice = request.spec.ends_with(".json") ? ReadTopologyFile(request)
                : IsAstraNetworkFile(request.spec)
                    ? ReadAstraNetwork(request)
                    : MakeGridSlice(ParseSpec(request), request, {});
  for (const std::string& fault : request.faults) {
    ApplyFault(fault, "--fault " + fault, slice.topology);
  }
  SettleDatedFaults(slice.topology);
  RequireConnected(slice.topology, request.spec);
  return slice;
}

Slice WithoutDatedFaults(const Slice& slice) {
  Slice before = slice;
  before.topology.dated() = {};
  return before;
}

}  // namespace podsim
