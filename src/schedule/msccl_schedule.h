#ifndef PODSIM_SCHEDULE_MSCCL_SCHEDULE_H_
#define PODSIM_SCHEDULE_MSCCL_SCHEDULE_H_

#include <optional>

#include "schedule/msccl_xml.h"
#include "schedule/schedule_file.h"

namespace podsim {

// The schedule that an MSCCL algorithm means on a slice, for one loop that
// covers the payload. Its buffers are followed from start to end: a message
// moves the chunks that are in its place at that time.
//
//   message    starts when all that comes before its sending step has ended;
//              the receiver only keeps it waiting where it would overwrite what
//              is still in use, or where the receiving step itself waits (a
//              channel buffers messages, else rings would deadlock)
//   r, rrc     copy, reduce; r into what `re` reads: scratch, and `re` the
//   local cpy, nop   no op: what comes after them waits for what came before
//
// Adds into one place need no order among each other. Op ids go by depth in the
// DAG, then by gpu, threadblock and step. Violations name lines of the file.
//
// `request` and `payload` win over what the file says; without either, ideal:N
// and 1MiB, and warnings in the slice. Throws InputError for what a Schedule
// cannot hold: two values of one chunk on one gpu that are both used.
ScheduleFile MakeMscclSchedule(const MscclAlgorithm& algorithm,
                               SliceRequest request,
                               std::optional<Bytes> payload);

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_MSCCL_SCHEDULE_H_
