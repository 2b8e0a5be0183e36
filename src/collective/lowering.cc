#include "collective/lowering.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "collective/block_view.h"
#include "collective/groups.h"
#include "collective/lowerings.h"
#include "collective/sub_grid.h"

namespace podsim {
namespace {

// What a lowering works on: of one that is a program, groups that are blocks
// seen from one block.
class Seen {
 public:
  Seen(const Lowering& row, const Collective& collective,
       const Topology& topology)
      : collective_(collective), topology_(topology) {
    if (row.build == nullptr) view_ = BlockViewOf(collective, topology);
  }

  const Collective& collective() const {
    return view_ ? view_->collective : collective_;
  }
  const Topology& topology() const {
    return view_ ? view_->topology : topology_;
  }
  const std::optional<BlockView>& view() const { return view_; }

 private:
  const Collective& collective_;
  const Topology& topology_;
  std::optional<BlockView> view_;
};

std::optional<std::string> WhyNotOnSlice(const Lowering& row,
                                         const Collective& collective,
                                         const Topology& topology) {
  if (!collective.groups.empty()) {
    return "its groups must be all chips, the sub-grids of some axes or, on "
           "one healthy slice without a twist, equal blocks of consecutive "
           "coordinates, and these lists are none of them; use direct, "
           "binomial or double-binary-tree";
  }
  if (!topology.is_grid()) {
    return "the slice is a list of links without axes; use direct or bfs-tree";
  }
  const std::vector<int> active = ActiveAxes(collective, topology);
  const bool all_axes = static_cast<int>(active.size()) == topology.ici_axes();
  if (topology.twisted() && !(row.twists && all_axes)) {
    for (const int axis : active) {
      for (const int other : IciAxes(topology)) {
        if (topology.axes()[axis].size % topology.axes()[other].size == 0) {
          continue;
        }
        return "on a twisted slice axis " + AxisName(topology, axis) +
               " is no ring (it closes after two rounds); use bfb on all "
               "chips, or groups along the long axes";
      }
    }
  }
  if (topology.healthy()) return std::nullopt;
  for (std::uint32_t id = 0; id < topology.link_ids(); ++id) {
    const LinkId link(id);
    const bool used = std::find(active.begin(), active.end(),
                                topology.AxisOf(link)) != active.end();
    if (used && topology.Exists(link) && !topology.Live(link)) {
      return "it needs link " + topology.NameOf(link) +
             ", which is dead; use direct or bfs-tree, which go around faults";
    }
  }
  return std::nullopt;
}

}  // namespace

std::span<const Lowering> Lowerings() {
  static const std::vector<Lowering> rows = {RingLowering(),
                                             RingSplitLowering(),
                                             RingShortLowering(),
                                             LineLowering(),
                                             BucketLowering(),
                                             BucketRotatedLowering(),
                                             BfbLowering(),
                                             LineMiddleLowering(),
                                             ChainLowering(),
                                             BfsTreeLowering(),
                                             DoubleBinaryTreeLowering(),
                                             BinomialLowering(),
                                             DirectLowering(),
                                             DirectTwistedLowering(),
                                             RaggedLowering(),
                                             OneShotLowering(),
                                             RecursiveDoublingLowering(),
                                             HalvingDoublingLowering(),
                                             SwingLowering(),
                                             BruckLowering(),
                                             StagedLowering(),
                                             StagedRotatedLowering(),
                                             NeighborLowering(),
                                             HierarchicalLowering(),
                                             SplitShiftLowering(),
                                             WindowedMatmulLowering(),
                                             HamiltonianLowering(),
                                             HamiltonianPairLowering(),
                                             GreedyLowering(),
                                             EdgeDisjointTreesLowering(),
                                             SpanningTreesLowering(),
                                             TreePackingLowering(),
                                             DetourLowering(),
                                             FxLowering(),
                                             SwingExchangeLowering(),
                                             AxisExchangeLowering()};
  return rows;
}

const Lowering* FindLowering(const std::string& name) {
  for (const Lowering& row : Lowerings()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::optional<std::string> WhyNot(const LoweringSpec& spec,
                                  const Collective& collective,
                                  const Topology& topology) {
  const Lowering* row = FindLowering(spec.name);
  CHECK(row != nullptr) << spec.name;
  if (std::find(row->kinds.begin(), row->kinds.end(), collective.kind) ==
      row->kinds.end()) {
    std::vector<std::string> kinds;
    for (const CollectiveKind kind : row->kinds) kinds.push_back(ToText(kind));
    return "only for " + Join(kinds, ", ");
  }
  if (SpansSlices(collective, topology) && !row->over_dcn) {
    return "some group spans slices, and its messages go over ICI only; use "
           "hierarchical, direct or binomial";
  }
  const Seen seen(*row, collective, topology);
  if (row->build == nullptr) {
    const auto reason = WhyNotOnSlice(*row, seen.collective(), seen.topology());
    if (reason) return reason;
  }
  return row->why_not(seen.collective(), seen.topology(), spec);
}

LoweringSpec Resolve(const LoweringSpec& spec, const Collective& collective,
                     const Slice& slice) {
  const Lowering* row = FindLowering(spec.name);
  if (row->build == nullptr) {
    if (const auto view = BlockViewOf(collective, slice.topology)) {
      return Resolve(spec, view->collective, SliceOf(*view, slice));
    }
  }
  LoweringSpec resolved = spec;
  if (row->resolve != nullptr) return row->resolve(spec, collective, slice);
  if (row->best_chunks != nullptr && spec.chunks == 0) {
    resolved.chunks = row->best_chunks(collective, slice);
  }
  if (row->resolve != nullptr) {
    resolved = row->resolve(resolved, collective, slice);
  }
  return resolved;
}

bool HasProgram(const LoweringSpec& spec, const Collective& collective,
                const Topology& topology) {
  const Lowering* row = FindLowering(spec.name);
  if (row->is_symmetric != nullptr) {
    return row->is_symmetric(collective, topology, spec);
  }
  return row->lower != nullptr;
}

WholeSchedule Build(const LoweringSpec& spec, const Collective& collective,
                    const Topology& topology) {
  return FindLowering(spec.name)->build(collective, topology, spec);
}

Program Lower(const LoweringSpec& spec, const Collective& collective,
              const Topology& topology) {
  const Lowering* row = FindLowering(spec.name);
  const Seen seen(*row, collective, topology);
  Program program = row->lower(seen.collective(), seen.topology(), spec);
  if (seen.view()) program.blocks = seen.view()->blocks;
  for (const ProgramStep& step : program.steps) {
    if (program.blocks.empty()) break;
    CHECK(StaysInBlocks(program, step, topology)) << spec.name;
  }
  return program;
}

std::uint64_t CountSteps(const LoweringSpec& spec, const Collective& collective,
                         const Topology& topology) {
  const Lowering* row = FindLowering(spec.name);
  const Seen seen(*row, collective, topology);
  if (row->count != nullptr) {
    return row->count(seen.collective(), seen.topology(), spec);
  }
  const std::vector<int> active =
      ActiveAxes(seen.collective(), seen.topology());
  std::uint64_t per_parcel = 0;
  for (const int axis : active) {
    const GridAxis& along = seen.topology().axes()[axis];
    const auto n = static_cast<std::uint64_t>(along.size);
    // On a line every position sends its own steps.
    per_parcel += along.wrap ? 2 * n : n * n;
  }
  const std::uint64_t parts = spec.name == "bucket-rotated" ? active.size() : 1;
  const int phases = PhasesOf(collective.kind);
  return per_parcel * parts * spec.batches * phases;
}

Seconds AtLeast(const LoweringSpec& spec, const Collective& collective,
                const Slice& slice) {
  const Lowering* row = FindLowering(spec.name);
  if (row->build == nullptr) {
    if (const auto view = BlockViewOf(collective, slice.topology)) {
      return row->at_least(view->collective, SliceOf(*view, slice), spec);
    }
  }
  return row->at_least(collective, slice, spec);
}

bool IsOutdone(const LoweringSpec& spec, const Collective& collective,
               const Topology& topology) {
  // Without faults there is nothing to go around.
  if (spec.name == "detour") return topology.healthy();
  if (spec.batches == 1 && spec.name != "greedy" &&
      spec.name != "spanning-trees" && spec.name != "tree-packing") {
    return false;
  }
  const std::vector<CollectiveKind>& kinds = FindLowering("bfb")->kinds;
  const Seen seen(*FindLowering(spec.name), collective, topology);
  if (std::find(kinds.begin(), kinds.end(), collective.kind) == kinds.end() ||
      !AllAlike(seen.collective(), seen.topology())) {
    return false;
  }
  const std::vector<int> active =
      ActiveAxes(seen.collective(), seen.topology());
  return std::all_of(active.begin(), active.end(), [&](int axis) {
    return seen.topology().axes()[axis].size > 2;
  });
}

bool IsRedundant(const LoweringSpec& spec, const Collective& collective,
                 const Topology& topology) {
  const Seen seen(*FindLowering(spec.name), collective, topology);
  if (!HasProgram(spec, collective, topology) ||
      !seen.collective().groups.empty()) {
    return false;
  }
  const std::vector<int> active =
      ActiveAxes(seen.collective(), seen.topology());
  const std::vector<GridAxis>& axes = seen.topology().axes();
  bool any_wrap = false;
  bool equal = true;
  for (const int axis : active) {
    any_wrap |= axes[axis].wrap;
    equal &= axes[axis].size == axes[active[0]].size &&
             axes[axis].wrap == axes[active[0]].wrap;
  }
  if (spec.axis_primitive != AxisPrimitive::kShort && !any_wrap) return true;
  return spec.balanced && equal && spec.batches == 1;
}

std::vector<LoweringSpec> SpecsToCompare() {
  std::vector<LoweringSpec> specs;
  for (const Lowering& row : Lowerings()) {
    const bool per_primitive = std::string(row.name).starts_with("bucket");
    if (!per_primitive) {
      specs.push_back({.name = row.name, .fractions = {}});
      continue;
    }
    for (const AxisPrimitive primitive :
         {AxisPrimitive::kRing, AxisPrimitive::kSplit, AxisPrimitive::kShort}) {
      specs.push_back(
          {.name = row.name, .axis_primitive = primitive, .fractions = {}});
    }
  }
  return specs;
}

std::vector<LoweringSpec> SpecsForAuto() {
  std::vector<LoweringSpec> specs = SpecsToCompare();
  // Its plans are chosen among by estimates.
  std::erase_if(specs,
                [](const LoweringSpec& spec) { return spec.name == "fx"; });
  // Large slices: it folds.
  specs.push_back({.name = "direct", .fractions = {}, .ties = Ties::kHalves});
  specs.push_back({.name = "direct",
                   .fractions = {},
                   .ties = Ties::kHalves,
                   .far_first = true});
  for (const char* name : {"bucket-rotated", "hierarchical"}) {
    for (const int batches : {1, 4, 16}) {
      specs.push_back({.name = name,
                       .batches = batches,
                       .fractions = {},
                       .balanced = true});
    }
  }
  return specs;
}

}  // namespace podsim
