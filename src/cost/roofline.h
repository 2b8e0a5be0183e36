#ifndef PODSIM_COST_ROOFLINE_H_
#define PODSIM_COST_ROOFLINE_H_

#include <optional>
#include <string>

#include "base/units.h"
#include "topology/parameters.h"

namespace podsim {

// What one chip computes in one op.
struct ComputeWork {
  std::optional<Flops> flops;
  std::string dtype = "bf16";
  std::optional<Bytes> hbm;  // read and written
};

// max(flops / peak of the dtype, HBM bytes / HBM bandwidth): the roofline of
// Williams, Waterman, Patterson, CACM 2009. Throws InputError{where, ..} when
// the generation does not know the peak or the bandwidth that it needs.
Seconds RooflineTime(const ComputeWork& work, const Parameters& parameters,
                     const std::string& where);

}  // namespace podsim

#endif  // PODSIM_COST_ROOFLINE_H_
