#ifndef PODSIM_TOPOLOGY_SLICE_H_
#define PODSIM_TOPOLOGY_SLICE_H_

#include <string>
#include <vector>

#include "topology/parameters.h"
#include "topology/shape_rules.h"
#include "topology/topology.h"

namespace podsim {

// What the user asked for, before it is looked up.
struct SliceRequest {
  // "v5p:4x4x8[:twisted|:mesh|:torus|:wrap=xz]", "2*v5e:16x16", or the path of
  // a podsim-topology/1 file, or of a network file of ASTRA-sim
  // (astra_network.h), ending in .yml.
  std::string spec;
  std::string spec_where = "--slice";  // for messages
  // Parameters of a workload file, and where each stands; weaker than `sets`.
  struct Override {
    std::string key;
    std::string value;
    std::string where;
  };
  std::vector<Override> overrides;
  std::vector<std::string> sets;    // --set KEY=VALUE
  std::vector<std::string> faults;  // --fault ...
  bool ideal = false;               // --ideal; `sets` win over it
};

// Chips, links and numbers of one simulation.
struct Slice {
  std::string spec;  // canonical: "v5p:4x4x8:twisted", or the file's path
  std::string generation;
  Shape shape;  // one slice; empty for explicit links
  Topology topology;
  Parameters parameters;
  std::vector<std::string> warnings;  // for stderr
};

// Throws InputError for unknown generations, illegal shapes (naming legal
// ones), bad parameters or faults, and for live chips that cannot reach each
// other.
Slice MakeSlice(const SliceRequest& request);

// The slice as it is before anything happens to it.
Slice WithoutDatedFaults(const Slice& slice);

// A podsim-topology/1 file (topology_json.cc).
Slice ReadTopologyFile(const SliceRequest& request);

// The shared steps of both: legality, wraps, parameters. `*_where` name the
// place of each input for messages.
struct GridRequest {
  std::string generation;
  std::string generation_where;
  Shape shape;
  std::string shape_where;
  std::vector<std::string> axis_where;  // of each size, if they have one
  bool twisted = false;
  std::string twisted_where;
  std::vector<bool> wrap;  // empty: the generation's rule
  int slices = 1;
  std::string slices_where;
};
// Axes the shape leaves out have size 1 (`ideal` has as many as are written).
Slice MakeGridSlice(const GridRequest& asked, const SliceRequest& request,
                    const std::vector<SliceRequest::Override>& file_overrides);

// That its numbers are estimates, if they are.
std::vector<std::string> GenerationWarnings(const Generation& generation);

// Generation defaults < file < workload < --ideal < --set.
void ApplyOverrides(Parameters& parameters, const SliceRequest& request,
                    const std::vector<SliceRequest::Override>& file_overrides);

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_SLICE_H_
