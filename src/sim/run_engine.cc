#include "sim/run_engine.h"

#include "base/check.h"
#include "base/error.h"
#include "engine/reference.h"

namespace podsim {

Timeline RunEngine(const Schedule& schedule, const Network& network,
                   const SimOptions& options) {
  CHECK(options.engine != EngineKind::kBound);
  if (options.engine == EngineKind::kPod) return RunPod(schedule, network);
  if (schedule.transfers() > kMostReferenceTransfers && !options.force) {
    throw InputError(
        "--engine reference",
        std::to_string(schedule.transfers()) +
            " transfers; stock SimGrid takes long above " +
            std::to_string(kMostReferenceTransfers) +
            ": its time grows with the square. Let it fold (--fold auto), take "
            "fewer chips, use --engine pod, or insist with --force");
  }
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    if (network.hbm_bandwidth <= 0) break;
    if (schedule.kind(OpId(op)) != OpKind::kCompute) continue;
    if (schedule.hbm(OpId(op)).value() == 0) continue;
    throw InputError("--engine reference",
                     "SimGrid's model has no memory that async collectives "
                     "could take from computes; give computes durations, make "
                     "the collectives sync, or use --engine pod");
  }
  return RunReference(schedule, network);
}

}  // namespace podsim
