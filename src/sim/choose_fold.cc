#include "sim/choose_fold.h"

#include "base/error.h"
#include "collective/groups.h"
#include "schedule/instantiate.h"
#include "schedule/placement.h"

namespace podsim {
namespace {

// The chips of every host do the same, so that each has its share of the NIC.
bool HostsFold(const Fold& fold, const Topology& topology) {
  for (int axis = 0; axis < topology.ici_axes(); ++axis) {
    const int host = topology.dcn()->host[axis];
    if (host > 1 &&
        (fold.periods[axis] > 1 || topology.axes()[axis].size % host != 0)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Fold> FoldOf(const Program& program, const Topology& topology) {
  const Fold fold{PeriodsOf(program, topology)};
  if (!topology.uniform() || !FoldsAnything(topology, fold)) {
    return std::nullopt;
  }
  if (UsesDcn(program, topology) && !HostsFold(fold, topology)) {
    return std::nullopt;
  }
  return fold;
}

Bytes PaddedPayload(const LoweredCollective& lowered,
                    const Topology& topology) {
  if (SendsWholeGroups(*lowered.program, topology)) {
    return lowered.collective.payload;
  }
  const std::int64_t n = GroupSize(*lowered.program, topology);
  const std::int64_t rest = lowered.collective.payload.value() % n;
  return lowered.collective.payload + Bytes(rest == 0 ? 0 : n - rest);
}

FoldChoice ChooseFold(const LoweredCollective& lowered, const Slice& slice,
                      const SimOptions& options, const std::string& where) {
  const FoldMode mode = options.fold;
  const Topology& topology = slice.topology;
  const Bytes payload = lowered.collective.payload;
  if (mode == FoldMode::kOff) return {{}, payload, "--fold off"};
  FoldChoice choice{.fold = {}, .payload = payload, .reason = {}};
  if (options.network.kind != NetworkKind::kFluid) {
    choice.reason = "--network " + ToText(options.network) +
                    " serves what arrives at once in the order of the ops, "
                    "which differs from chip to chip";
    if (mode == FoldMode::kAuto) return choice;
  } else if (!topology.dated().empty()) {
    choice.reason = "a fault has a date (" + topology.dated().faults[0].text +
                    "), after which links differ or are dead";
    if (mode == FoldMode::kAuto) return choice;
  } else if (lowered.program) {
    choice.fold = FoldOf(*lowered.program, topology);
    choice.payload = PaddedPayload(lowered, topology);
  }
  if (!choice.reason.empty()) {
    // Known already.
  } else if (!lowered.program) {
    choice.reason = "its steps differ from chip to chip";
  } else if (!topology.uniform()) {
    choice.reason = "links differ or are dead";
  } else if (!choice.fold) {
    choice.reason =
        "no axis has more than one chip and is invariant under translation "
        "(lines and unwrapped axes are not; nor are hosts whose chips share a "
        "NIC but do not all do the same)";
  } else if (choice.payload != payload && mode == FoldMode::kAuto) {
    choice.reason = "the " +
                    std::to_string(GroupSize(*lowered.program, topology)) +
                    " ranks of a group do not divide the payload (--fold on "
                    "pads it)";
  } else {
    return choice;
  }
  if (mode == FoldMode::kOn) {
    throw InputError(where, "--fold on: cannot fold " + lowered.spec.name +
                                ": " + choice.reason + "; use --fold auto");
  }
  return {{}, payload, choice.reason};
}

}  // namespace podsim
