#ifndef PODSIM_WORKLOAD_ASTRA_H_
#define PODSIM_WORKLOAD_ASTRA_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/workload.h"

namespace podsim {

// What a system file of ASTRA-sim 2 (JSON) says that podsim can do.
struct AstraSystem {
  struct Implementation {
    std::string text;  // "ring", "oneDirect", "direct4"
    std::string where;
  };
  std::string file;
  // "all-reduce-implementation": one per dimension of the network.
  std::map<CollectiveKind, std::vector<Implementation>> implementations;
  std::map<CollectiveKind, std::string> where;  // of these lists
  int splits = 1;                // preferred-dataset-splits: chunks
  std::string splits_where;      // empty: not given
  double endpoint_delay_ns = 0;  // of every message
  std::string endpoint_delay_where;
  bool baseline = false;  // collective-optimization
  // Every key that is not known, and those that change nothing here.
  std::vector<std::string> warnings;
};

// Throws InputError at the JSON pointer of whatever is wrong.
AstraSystem ReadAstraSystem(const JsonValue& json);

// A workload of ASTRA-sim 1 (text): how the layers are spread, and a line per
// layer.
struct AstraPhase {
  std::int64_t compute = 0;  // ns; the text does not say
  std::optional<CollectiveKind> comm = {};
  std::int64_t bytes = 0;
  std::string where = {};  // "w.txt:3:9", of the kind
};

struct AstraLayer {
  std::string name;
  AstraPhase forward = {};
  AstraPhase input_gradient = {};
  AstraPhase weight_gradient = {};
  std::int64_t update = 0;
  std::string parallelism = {};  // 13th column of HYBRID_CUSTOMIZED
  std::string where = {};
  int columns = 0;
};

struct AstraText {
  std::string file;
  std::string parallelism;           // "DATA"
  std::vector<std::string> options;  // the other words of line 1
  std::string where;                 // of the keyword
  int group = 0;  // of HYBRID_TRANSFORMER: NPUs that share a model
  std::vector<AstraLayer> layers;
};

// Throws InputError at the line and column of whatever is wrong.
AstraText ParseAstraText(std::string_view text, const std::string& file);

// What a system file makes of collectives of this kind along `axes` (those with
// more than one chip) as a lowering spec, and where it says so. Throws
// InputError for what podsim has no lowering for.
AstraSystem::Implementation AstraLowering(const AstraSystem& system,
                                          CollectiveKind kind,
                                          const std::vector<int>& axes,
                                          std::size_t dimensions);

// One training step on the network file that request.slice.spec names.
// `compute_scale`: of the compute times, taken as ns. Throws InputError.
Workload MakeAstraWorkload(const AstraText& text, const AstraSystem& system,
                           const WorkloadRequest& request,
                           double compute_scale);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_ASTRA_H_
