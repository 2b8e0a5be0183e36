#include "collective/block_view.h"

#include <algorithm>

#include "collective/groups.h"

namespace podsim {
namespace {

// Chips along every axis from the first to the last one of a list.
std::vector<int> LengthsOf(const std::vector<ChipId>& group,
                           const Topology& topology) {
  const Coordinates first = topology.CoordinatesOf(group.front());
  const Coordinates last = topology.CoordinatesOf(group.back());
  std::vector<int> lengths;
  for (std::size_t a = 0; a < topology.axes().size(); ++a) {
    lengths.push_back(last[a] - first[a] + 1);
  }
  return lengths;
}

// The chips of the box at (0, 0, ..) in increasing order.
std::vector<std::uint32_t> ChipsOfBox(const std::vector<int>& lengths,
                                      const Topology& topology) {
  std::vector<std::uint32_t> chips = {0};
  std::uint32_t stride = 1;
  for (std::size_t a = 0; a < lengths.size(); ++a) {
    const std::size_t before = chips.size();
    for (int k = 1; k < lengths[a]; ++k) {
      for (std::size_t i = 0; i < before; ++i) {
        chips.push_back(chips[i] + k * stride);
      }
    }
    stride *= topology.axes()[a].size;
  }
  return chips;
}

bool StartsBlock(ChipId chip, const std::vector<int>& lengths,
                 const Topology& topology) {
  const Coordinates at = topology.CoordinatesOf(chip);
  for (std::size_t a = 0; a < lengths.size(); ++a) {
    if (at[a] % lengths[a] != 0) return false;
  }
  return true;
}

// The lengths of the blocks that the lists are, if they are.
std::optional<std::vector<int>> FindLengths(
    const std::vector<std::vector<ChipId>>& groups, const Topology& topology) {
  const std::size_t size = groups[0].size();
  if (groups.size() * size != static_cast<std::size_t>(topology.chips())) {
    return std::nullopt;
  }
  std::vector<int> lengths = LengthsOf(groups[0], topology);
  std::size_t volume = 1;
  for (std::size_t a = 0; a < lengths.size(); ++a) {
    if (lengths[a] < 1 || topology.axes()[a].size % lengths[a] != 0) {
      return std::nullopt;
    }
    volume *= lengths[a];
  }
  if (volume != size) return std::nullopt;
  const std::vector<std::uint32_t> box = ChipsOfBox(lengths, topology);
  for (const std::vector<ChipId>& group : groups) {
    // Unequal lists come with other kinds of groups.
    if (group.size() != size || !StartsBlock(group[0], lengths, topology)) {
      return std::nullopt;
    }
    const std::uint32_t first = group[0].value();
    for (std::size_t k = 0; k < size; ++k) {
      if (group[k].value() != first + box[k]) return std::nullopt;
    }
  }
  return lengths;
}

}  // namespace

std::optional<BlockView> BlockViewOf(const Collective& collective,
                                     const Topology& topology) {
  if (collective.groups.empty() || !topology.plain() || !topology.uniform() ||
      topology.ici_axes() != static_cast<int>(topology.axes().size())) {
    return std::nullopt;
  }
  std::optional<std::vector<int>> blocks =
      FindLengths(collective.groups, topology);
  if (!blocks) return std::nullopt;
  std::vector<GridAxis> axes = topology.axes();
  std::vector<int> group_axes;
  bool cut = false;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    int& length = (*blocks)[a];
    if (length == 1) {
      length = axes[a].size;
      continue;
    }
    group_axes.push_back(static_cast<int>(a));
    if (length == axes[a].size) continue;
    cut = true;
    axes[a] = {.size = length, .wrap = false};
  }
  BlockView view{.topology = Topology::MakeGrid(std::move(axes), false,
                                                topology.base_bandwidth(),
                                                topology.base_latency()),
                 .collective = {.kind = collective.kind,
                                .payload = collective.payload,
                                .axes = std::move(group_axes),
                                .matrix = collective.matrix},
                 .blocks = {}};
  if (cut) view.blocks = *std::move(blocks);
  if (collective.root) {
    Coordinates at = topology.CoordinatesOf(*collective.root);
    for (const int a : view.collective.axes) {
      at[a] %= view.topology.axes()[a].size;
    }
    view.collective.root = view.topology.ChipAt(at);
  }
  return view;
}

Slice SliceOf(const BlockView& view, const Slice& slice) {
  Slice block = slice;
  block.topology = view.topology;
  return block;
}

}  // namespace podsim
