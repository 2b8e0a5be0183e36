#ifndef PODSIM_TOPOLOGY_ASTRA_NETWORK_H_
#define PODSIM_TOPOLOGY_ASTRA_NETWORK_H_

#include <string>
#include <string_view>
#include <vector>

#include "topology/slice.h"

namespace podsim {

// A network file of ASTRA-sim 2 (its analytical backend): the dimensions of a
// machine, fastest varying id first.
//
//   topology: [ Ring, Ring ]    npus_count: [ 4, 8 ]
//   bandwidth: [ 80.0, 80.0 ]   latency: [ 1000.0, 1000.0 ]
enum class AstraShape { kRing, kFullyConnected, kSwitch };

struct AstraDimension {
  AstraShape shape = AstraShape::kRing;
  int npus = 1;
  double gib_per_s = 0;  // of a link, one way; its "GB/s" are 2^30 bytes/s
  double latency_ns = 0;
  std::string where = {};  // "net.yml:2:13", of `shape`
  std::string npus_where = {};
  std::string bandwidth_where = {};
  std::string latency_where = {};
};

struct AstraNetwork {
  std::string file;
  std::vector<AstraDimension> dimensions;
};

// By its name: .yml or .yaml.
bool IsAstraNetworkFile(const std::string& path);

// Throws InputError at the line and column of whatever is wrong: keys missing,
// unknown or standing twice, lists of unequal length, numbers out of range.
AstraNetwork ParseAstraNetwork(std::string_view text, const std::string& file);

// The torus of `ideal` chips that it is. Rings longer than 2 wrap; one of 2 is
// a single cable, and a FullyConnected of 2 or 3 chips is such a ring. Throws
// InputError for all else: switches, larger FullyConnected, over three
// dimensions, dimensions whose links differ.
Slice MakeAstraSlice(const AstraNetwork& network, const SliceRequest& request);

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_ASTRA_NETWORK_H_
