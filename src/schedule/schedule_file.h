#ifndef PODSIM_SCHEDULE_SCHEDULE_FILE_H_
#define PODSIM_SCHEDULE_SCHEDULE_FILE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/violations.h"
#include "topology/slice.h"

namespace podsim {

// A schedule, the slice it is for, and what it must compute. `violations`: ops
// that the Schedule cannot hold (they wait for later ops, use unknown links, or
// go nowhere); they stand in it as empty computes. `op_places`: where each op
// stands in the file ("line 7"); empty if op ids say it.
struct ScheduleFile {
  Slice slice;
  Schedule schedule;
  CollectiveMeaning meaning;
  Violations violations;
  std::vector<std::string> op_places = {};
};

// MSCCL XML, by the suffix .xml; else podsim-schedule/1.
bool IsMscclFile(const std::string& path);

// Reads either. `request` gives --set, --fault and --ideal, and --slice if the
// user overrides the file's; `payload` is --bytes, for MSCCL XML only. Throws
// InputError for anything that is not of the format.
ScheduleFile ReadScheduleFile(const std::string& path, SliceRequest request,
                              std::optional<Bytes> payload = std::nullopt);

// Writes MSCCL XML or GOAL, by the suffix of `path`, else podsim-schedule/1,
// piece by piece. Throws InputError{"-o path", ..} for what the format has no
// words for.
void WriteScheduleFile(const std::string& path, const Schedule& schedule,
                       const CollectiveMeaning& meaning, const Slice& slice,
                       const std::function<void(const std::string&)>& write);

// What reading and replaying find wrong, with the places of the ops.
Violations JudgeSchedule(const ScheduleFile& file);

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_SCHEDULE_FILE_H_
