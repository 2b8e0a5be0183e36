#include "workload/compute_op.h"

#include <algorithm>

namespace podsim {

void SetWork(const ComputeWork& work, double scale,
             const Parameters& parameters, const std::string& where,
             StepOp& op) {
  RooflineShare share;
  if (work.flops) {
    const ComputeWork alone{
        .flops = work.flops, .dtype = work.dtype, .hbm = {}};
    share.flops = *work.flops;
    share.ideal = RooflineTime(alone, parameters, where);
    share.flops_time = scale * share.ideal;
  }
  if (work.hbm) {
    const ComputeWork alone{.flops = {}, .hbm = work.hbm};
    share.hbm_time = scale * RooflineTime(alone, parameters, where);
    op.hbm = *work.hbm;
  }
  op.duration = std::max(share.flops_time, share.hbm_time);
  op.roofline = share;
}

void SetCopy(Bytes bytes, const Parameters& parameters,
             const std::string& where, StepOp& op) {
  SetWork({.flops = {}, .hbm = bytes}, /*scale=*/1, parameters, where, op);
  op.copy = true;
}

}  // namespace podsim
