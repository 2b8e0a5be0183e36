#ifndef PODSIM_STEP_ABSTRACT_STEP_H_
#define PODSIM_STEP_ABSTRACT_STEP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace podsim {

// The timed, flat view of one chip's program: what schedulers order and
// what-ifs change. Durations and resources are given; simulate_abstract.h says
// how an order of the ops executes, memory.h what it holds.

// Transfers queue on a FIFO resource and have it alone; a share resource slows
// those who together want more than its capacity.
enum class ResourceMode : std::uint8_t { kFifo, kShare };

struct StepResource {
  std::string name = {};  // "tc", "hbm", "ici_x+", ..
  ResourceMode mode = ResourceMode::kFifo;
  double capacity =
      1;  // of a share resource, in the unit of ResourceUse::share
};

// What an op takes of a resource at full speed: of a compute while it runs on
// the core, of a start or sync while its transfer works.
struct ResourceUse {
  std::uint32_t resource = 0;
  double share = 1;  // in (0, capacity]; 1 of a FIFO resource
};

enum class AbstractKind : std::uint8_t { kCompute, kStart, kDone, kSync };

// Op index = position in the program.
struct AbstractOp {
  AbstractKind kind = AbstractKind::kCompute;
  Seconds tc_time = {};  // on the core at full speed; else the cost of issue
  Seconds latency = {};  // of the transfer of a start or sync, never slowed
  Seconds work = {};     // of that transfer, at full speed
  std::vector<ResourceUse> use = {};     // FIFO ones: of starts and syncs only
  std::vector<std::uint32_t> deps = {};  // producers; keep their buffers alive
  std::vector<std::uint32_t> ctrl = {};  // earlier ops, order only
  Bytes out =
      {};  // result; of a start its transfer's, so 0 of a done; 0 with alias
  Bytes tmp = {};                           // scratch while the op runs
  std::optional<std::uint32_t> of = {};     // the start of a done
  std::optional<std::uint32_t> alias = {};  // writes into that op's result
  std::string name = {};                    // for reports
  std::string phase = {};
};

// A buffer that is there from the start: live until its last user, or to the
// end.
struct StepParam {
  Bytes bytes = {};
  std::vector<std::uint32_t> users = {};
  bool live_out = false;
};

// At most so many starts without their done in the order use the resource; a
// sync counts while it runs.
struct InFlightLimit {
  std::uint32_t resource = 0;
  int most = 1;
};

constexpr std::uint32_t kTensorCore = 0;

struct AbstractStep {
  // [kTensorCore] is there from the start: every op uses it with share 1 while
  // it runs on the core.
  std::vector<StepResource> resources = {
      {.name = "tc", .mode = ResourceMode::kShare}};
  std::vector<AbstractOp> ops = {};
  std::vector<StepParam> params = {};
  std::vector<std::uint32_t> outputs = {};  // live to the end
  std::optional<Bytes> memory_limit = {};
  std::vector<InFlightLimit> in_flight = {};
};

// Issue order: each op once.
using StepOrder = std::vector<std::uint32_t>;
using StepOrderView = std::span<const std::uint32_t>;

inline bool HasTransfer(const AbstractOp& op) {
  return op.kind == AbstractKind::kStart || op.kind == AbstractKind::kSync;
}

// Length of the op's stay on the core with nothing in its way; of a sync its
// transfer's too.
double FullSpeedTime(const AbstractOp& op);
// Latency and work of its transfer.
double TransferTime(const AbstractOp& op);

// The program as it is.
StepOrder ProgramOrder(const AbstractStep& step);

// For each op the last one that needs its operands: the done of a start, else
// itself. A start without done stands for itself.
std::vector<std::uint32_t> LastReaders(const AbstractStep& step);

// "op 17 (all-gather-start.3)", or "op 17".
std::string OpText(const AbstractStep& step, std::uint32_t op);

}  // namespace podsim

#endif  // PODSIM_STEP_ABSTRACT_STEP_H_
