#ifndef PODSIM_STEP_STEP_GRAPH_H_
#define PODSIM_STEP_STEP_GRAPH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collective/collective.h"
#include "collective/lowering.h"

namespace podsim {

// How a collective runs beside the core. Of the async ones the core goes on
// once they are issued, and stops at their wait.
enum class CollectiveMode : std::uint8_t {
  kSync,
  kAsync,
  kAsyncFused,  // while in flight it takes a share of the TensorCore
  kSparseCore,  // one at a time on the SparseCore unit
};
const char* ToText(CollectiveMode mode);  // "sync", "async_fused", ..

// What a compute takes of the roofline; its duration is the larger of the two
// times, as scaled.
struct RooflineShare {
  Flops flops;
  Seconds ideal;       // flops / peak
  Seconds flops_time;  // the same, scaled
  Seconds hbm_time;    // bytes / bandwidth, scaled
};

// One op of a step, the same on every chip: a compute, a copy between memories,
// or a collective.
struct StepOp {
  std::string id;
  std::string where;  // its place in the file, for messages
  std::optional<Collective> collective;
  std::optional<LoweringSpec> lowering;  // nullopt: auto
  std::string lowering_where;
  CollectiveMode mode = CollectiveMode::kSync;
  // A copy by DMA beside the core: one at a time, waited for like a collective.
  bool copy = false;
  Seconds duration;  // of a compute or copy, undisturbed
  Bytes hbm;         // its memory traffic
  // Of a compute that was given as work; a fixed duration has none.
  std::optional<RooflineShare> roofline = {};
  // Ops whose results it needs: of each the latest execution before it, so in a
  // loop that of the same iteration, or of the one before for those that come
  // later in the body.
  std::vector<std::uint32_t> deps = {};
  std::string axes = {};  // of the mesh, as the file names them; for reports
  // What the chip's HBM holds while it runs; nullopt: not known.
  std::optional<Bytes> live = {};

  // Whether something waits for its end, instead of the core right away.
  bool async() const { return copy || mode != CollectiveMode::kSync; }
};

// What the core executes, in order: ops, waits for async ones, and loops that
// stay loops.
struct StepItem {
  std::optional<std::uint32_t> op;  // index into StepGraph::ops
  bool wait = false;                // for the latest execution of `op`
  int repeat = 1;                   // of a loop
  std::vector<StepItem> body;
};

// A buffer in HBM.
struct LiveBuffer {
  std::string name;
  Bytes bytes;
};

// The most that a chip's HBM holds at once.
struct StepMemory {
  Bytes peak;
  std::string at;                     // the op that runs then
  std::vector<LiveBuffer> live = {};  // most bytes first
};

// One step of an SPMD program, in issue order.
struct StepGraph {
  std::vector<StepOp> ops;  // in file order
  std::vector<StepItem> items;
  std::optional<StepMemory> memory = {};
};

// How often each op is executed, loops of more than `most_repeats` iterations
// (0: any number) cut to so many. Saturates at 2^62.
std::vector<std::int64_t> CountExecutions(const StepGraph& graph,
                                          int most_repeats = 0);

// Whether some loop has more iterations.
bool HasLongerLoop(const std::vector<StepItem>& items, int repeats);

}  // namespace podsim

#endif  // PODSIM_STEP_STEP_GRAPH_H_
