#ifndef PODSIM_SCHEDULE_SCHEDULE_JSON_H_
#define PODSIM_SCHEDULE_SCHEDULE_JSON_H_

#include <functional>
#include <string>

#include "schedule/schedule.h"
#include "schedule/schedule_file.h"
#include "topology/slice.h"

namespace podsim {

// A podsim-schedule/1 file. `request` gives --set, --fault and --ideal, and
// --slice if the user overrides the file's. Throws InputError for anything that
// is not of the format.
ScheduleFile ReadScheduleJson(const std::string& path, SliceRequest request);

// The text of a podsim-schedule/1 file, one op per line, piece by piece.
void WriteSchedule(const Schedule& schedule, const CollectiveMeaning& meaning,
                   const Slice& slice,
                   const std::function<void(const std::string&)>& write);

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_SCHEDULE_JSON_H_
