#ifndef PODSIM_PYTHON_SCHEDULE_ARRAYS_H_
#define PODSIM_PYTHON_SCHEDULE_ARRAYS_H_

#include <pybind11/numpy.h>

#include <cstdint>
#include <string>

#include "schedule/schedule.h"

namespace podsim {

// A schedule as arrays, an entry per op. Op k waits for the ops
// after[after_offsets[k]:after_offsets[k + 1]], all of them older.
struct ScheduleArrays {
  std::string lowering;                  // resolved
  pybind11::array_t<std::uint8_t> kind;  // 0 transfer, 1 local add, 2 compute
  pybind11::array_t<std::uint32_t> src;  // chip
  pybind11::array_t<std::uint32_t> dst;
  pybind11::array_t<std::int64_t> bytes;          // 0 for what is no transfer
  pybind11::array_t<std::int64_t> after_offsets;  // ops + 1
  pybind11::array_t<std::uint32_t> after;
};

ScheduleArrays ArraysOf(const Schedule& schedule, const std::string& lowering);

}  // namespace podsim

#endif  // PODSIM_PYTHON_SCHEDULE_ARRAYS_H_
