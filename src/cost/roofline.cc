#include "cost/roofline.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace podsim {

Seconds RooflineTime(const ComputeWork& work, const Parameters& parameters,
                     const std::string& where) {
  Seconds time;
  if (work.flops) {
    const auto peak = parameters.chip_flops.find(work.dtype);
    if (peak == parameters.chip_flops.end()) {
      std::vector<std::string> known;
      for (const auto& [dtype, rate] : parameters.chip_flops) {
        known.push_back(dtype);
      }
      throw InputError(
          where,
          "the peak of dtype " + work.dtype +
              " is not known for this generation" +
              (known.empty() ? "" : " (known: " + Join(known, ", ") + ")") +
              "; set chip.flops." + work.dtype +
              ", for example --set chip.flops." + work.dtype +
              "=459TFLOP/s, or give a duration");
    }
    time = *work.flops / peak->second;
  }
  if (work.hbm) {
    if (!parameters.hbm_bandwidth) {
      throw InputError(where,
                       "the HBM bandwidth of this generation is not "
                       "known; set hbm.bandwidth, for example --set "
                       "hbm.bandwidth=2765GB/s, or give a duration");
    }
    time = std::max(time, *work.hbm / *parameters.hbm_bandwidth);
  }
  return time;
}

}  // namespace podsim
