#include <map>

#include "base/error.h"
#include "schedule/msccl_xml.h"

namespace podsim {
namespace {

constexpr MscclStepType kTypes[] = {
    {.name = "s", .sends = true},
    {.name = "r", .receives = true, .stores = true},
    {.name = "rcs", .receives = true, .stores = true, .sends = true},
    {.name = "rrs", .receives = true, .reduces = true, .sends = true},
    {.name = "rrc", .receives = true, .reduces = true, .stores = true},
    {.name = "rrcs",
     .receives = true,
     .reduces = true,
     .stores = true,
     .sends = true},
    {.name = "cpy", .stores = true},
    {.name = "re", .reduces = true, .stores = true},
    {.name = "nop"}};

void CheckDependences(const MscclAlgorithm& algorithm, const MscclGpu& gpu) {
  const auto blocks = static_cast<int>(gpu.threadblocks.size());
  for (const MscclThreadblock& block : gpu.threadblocks) {
    for (const MscclStep& step : block.steps) {
      if (step.dep_threadblock < 0) continue;
      const std::string where = algorithm.At(step.line);
      if (step.dep_threadblock >= blocks) {
        throw InputError(where, "depid: the gpu has no threadblock " +
                                    std::to_string(step.dep_threadblock));
      }
      const auto& steps =
          gpu.threadblocks[static_cast<std::size_t>(step.dep_threadblock)]
              .steps;
      if (step.dep_step >= static_cast<int>(steps.size())) {
        throw InputError(
            where, "deps: threadblock " + std::to_string(step.dep_threadblock) +
                       " has no step " + std::to_string(step.dep_step));
      }
    }
  }
}

// One threadblock sends on a connection, and one receives.
void CheckConnections(const MscclAlgorithm& algorithm, int id,
                      const MscclGpu& gpu) {
  std::map<std::pair<int, int>, int> sender, receiver;
  for (const MscclThreadblock& block : gpu.threadblocks) {
    const auto check = [&](int peer, auto& lines, const char* verb) {
      if (peer < 0) return;
      const auto [entry, fresh] =
          lines.emplace(std::pair(peer, block.channel), block.line);
      if (fresh) return;
      throw InputError(algorithm.At(block.line),
                       "gpu " + std::to_string(id) + " already " + verb +
                           " gpu " + std::to_string(peer) + " on channel " +
                           std::to_string(block.channel) + " in line " +
                           std::to_string(entry->second));
    };
    check(block.send, sender, "sends to");
    check(block.receive, receiver, "receives from");
  }
}

}  // namespace

std::span<const MscclStepType> MscclStepTypes() { return kTypes; }

const MscclStepType* FindMscclStepType(const std::string& name) {
  for (const MscclStepType& type : kTypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

MscclBuffers BuffersOf(const std::string& kind, int chunks_per_loop, int gpus) {
  if (kind == "all-gather") return {chunks_per_loop / gpus, chunks_per_loop};
  if (kind == "reduce-scatter") {
    return {chunks_per_loop, chunks_per_loop / gpus};
  }
  return {chunks_per_loop, chunks_per_loop};
}

void CheckMscclGpu(const MscclAlgorithm& algorithm, int id) {
  const MscclGpu& gpu = algorithm.gpus[static_cast<std::size_t>(id)];
  CheckDependences(algorithm, gpu);
  CheckConnections(algorithm, id, gpu);
}

}  // namespace podsim
