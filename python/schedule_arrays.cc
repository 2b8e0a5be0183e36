#include "schedule_arrays.h"

#include <vector>

namespace podsim {
namespace {

template <class T>
pybind11::array_t<T> ArrayOf(const std::vector<T>& values) {
  return pybind11::array_t<T>(static_cast<pybind11::ssize_t>(values.size()),
                              values.data());
}

}  // namespace

ScheduleArrays ArraysOf(const Schedule& schedule, const std::string& lowering) {
  std::vector<std::uint8_t> kind;
  std::vector<std::uint32_t> src, dst, after;
  std::vector<std::int64_t> bytes, after_offsets = {0};
  for (std::uint32_t k = 0; k < schedule.size(); ++k) {
    const OpId op(k);
    const bool transfers = schedule.kind(op) == OpKind::kTransfer;
    kind.push_back(static_cast<std::uint8_t>(schedule.kind(op)));
    src.push_back(schedule.src(op).value());
    dst.push_back(schedule.dst(op).value());
    bytes.push_back(transfers ? schedule.bytes(op).value() : 0);
    for (const OpId older : schedule.after(op)) after.push_back(older.value());
    after_offsets.push_back(static_cast<std::int64_t>(after.size()));
  }
  return {.lowering = lowering,
          .kind = ArrayOf(kind),
          .src = ArrayOf(src),
          .dst = ArrayOf(dst),
          .bytes = ArrayOf(bytes),
          .after_offsets = ArrayOf(after_offsets),
          .after = ArrayOf(after)};
}

}  // namespace podsim
