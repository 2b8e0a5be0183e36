#ifndef PODSIM_REPORT_TRACE_H_
#define PODSIM_REPORT_TRACE_H_

#include <string>
#include <vector>

#include "sim/run_record.h"
#include "topology/slice.h"

namespace podsim {

inline constexpr std::uint64_t kMostTraceEvents = 1'000'000;

// A run as Chrome trace events (JSON), for Perfetto or chrome://tracing. One
// process per chip, "TPU 12 (0,3,0)"; its threads: XLA Ops (what the core does:
// computes, sync collectives, waits), Async XLA Ops (async collectives from
// issue to end), and one per link direction with its transfers, "ICI x+", a
// second one where transfers overlap, so that slices of a thread never do. A
// counter per link direction says how many transfers flow. An arrow leads from
// a collective's slice to each of its transfers. Microseconds with six
// decimals. A folded run is unfolded onto the chips.
//
// `chips`: those to show; empty: all. Throws InputError{where, ..} with the
// remedy above kMostTraceEvents.
std::string TraceJson(const RunRecord& record, const Slice& slice,
                      const std::vector<ChipId>& chips,
                      const std::string& where);

}  // namespace podsim

#endif  // PODSIM_REPORT_TRACE_H_
