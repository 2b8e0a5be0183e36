#ifndef PODSIM_REPORT_HTML_TIMELINE_H_
#define PODSIM_REPORT_HTML_TIMELINE_H_

#include <string>

#include "sim/run_record.h"
#include "topology/slice.h"

namespace podsim {

// What the chip that sends the most bytes (of several the first) did, as JSON:
// {"chip": "0,3,0", "threads": ["XLA Ops", ..], "names": [..], "kinds": [..],
// "shorter_than_us": .., "events": [[thread, name, kind, begin in us, length in
// us, how many slices], ..]}, with the threads of TraceJson. Neighbours on a
// thread that are shorter than `shorter_than_us` are joined, so that at most
// 4,000 events remain. Where the chip has more than 100,000 slices: {"chip",
// "why"}.
std::string HtmlTimeline(const RunRecord& record, const Slice& slice);

}  // namespace podsim

#endif  // PODSIM_REPORT_HTML_TIMELINE_H_
