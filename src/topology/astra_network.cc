#include "topology/astra_network.h"

#include "base/error.h"
#include "base/text.h"

namespace podsim {
namespace {

constexpr char kModelled[] =
    "; podsim models tori: Ring of any length, FullyConnected of 2 or 3 NPUs "
    "(the same links), at most three dimensions with links alike";

void RequireModelled(const AstraDimension& dimension) {
  if (dimension.shape == AstraShape::kSwitch) {
    throw InputError(dimension.where, "Switch of " +
                                          std::to_string(dimension.npus) +
                                          " NPUs is not modelled" + kModelled);
  }
  if (dimension.shape == AstraShape::kFullyConnected && dimension.npus > 3) {
    throw InputError(dimension.where, "FullyConnected of " +
                                          std::to_string(dimension.npus) +
                                          " NPUs is not modelled" + kModelled);
  }
}

// All dimensions with more than one chip have the links of `first`.
void RequireAlike(const AstraDimension& dimension, const AstraDimension& first,
                  std::size_t at) {
  const std::string unlike = " is not that of the dimensions before (";
  if (dimension.gib_per_s != first.gib_per_s) {
    throw InputError(dimension.bandwidth_where,
                     "the bandwidth " + Exact(dimension.gib_per_s) +
                         " GB/s of dimension " + std::to_string(at) + unlike +
                         Exact(first.gib_per_s) + " GB/s)" + kModelled);
  }
  if (dimension.latency_ns != first.latency_ns) {
    throw InputError(dimension.latency_where,
                     "the latency " + Exact(dimension.latency_ns) +
                         " ns of dimension " + std::to_string(at) + unlike +
                         Exact(first.latency_ns) + " ns)" + kModelled);
  }
}

}  // namespace

Slice MakeAstraSlice(const AstraNetwork& network, const SliceRequest& request) {
  constexpr std::size_t kMostDimensions = 3;
  if (network.dimensions.size() > kMostDimensions) {
    throw InputError(network.dimensions[kMostDimensions].where,
                     "found " + std::to_string(network.dimensions.size()) +
                         " dimensions" + kModelled);
  }
  const AstraDimension* links = &network.dimensions[0];
  for (const AstraDimension& dimension : network.dimensions) {
    if (links->npus == 1) links = &dimension;
  }
  GridRequest grid;
  grid.generation = "ideal";
  grid.generation_where = grid.twisted_where = grid.slices_where = network.file;
  grid.shape_where = links->npus_where;
  for (std::size_t d = 0; d < network.dimensions.size(); ++d) {
    const AstraDimension& dimension = network.dimensions[d];
    RequireModelled(dimension);
    if (dimension.npus > 1) RequireAlike(dimension, *links, d);
    grid.shape.push_back(dimension.npus);
    grid.axis_where.push_back(dimension.npus_where);
    grid.wrap.push_back(dimension.npus > 2);
  }
  Slice slice =
      MakeGridSlice(grid, request,
                    {{"ici.bandwidth", Exact(links->gib_per_s) + "GiB/s",
                      links->bandwidth_where},
                     {"ici.hop_latency", Exact(links->latency_ns) + "ns",
                      links->latency_where}});
  slice.spec = request.spec;
  return slice;
}

}  // namespace podsim
