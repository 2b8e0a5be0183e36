#include "schedule/schedule_file.h"

#include <charconv>

#include "base/error.h"
#include "schedule/goal.h"
#include "schedule/msccl_schedule.h"
#include "schedule/msccl_xml.h"
#include "schedule/schedule_json.h"
#include "schedule/verifier.h"

namespace podsim {
namespace {

// "op 3 and op 5 .." -> "op 3 (line 17) and op 5 (line 9) ..".
std::string WithPlaces(const std::string& text,
                       const std::vector<std::string>& places) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const bool starts_word = at == 0 || text[at - 1] == ' ';
    std::size_t id = 0;
    const auto [end, error] =
        starts_word && text.compare(at, 3, "op ") == 0
            ? std::from_chars(text.data() + at + 3, text.data() + text.size(),
                              id)
            : std::from_chars_result{text.data(), std::errc::invalid_argument};
    if (error != std::errc() || id >= places.size()) {
      result += text[at++];
      continue;
    }
    const auto next = static_cast<std::size_t>(end - text.data());
    result += text.substr(at, next - at) + " (" + places[id] + ")";
    at = next;
  }
  return result;
}

}  // namespace

bool IsMscclFile(const std::string& path) { return path.ends_with(".xml"); }

ScheduleFile ReadScheduleFile(const std::string& path, SliceRequest request,
                              std::optional<Bytes> payload) {
  if (IsMscclFile(path)) {
    return MakeMscclSchedule(ReadMscclXml(path), std::move(request), payload);
  }
  if (IsGoalFile(path)) {
    throw InputError(path,
                     "GOAL does not say what is computed; expected "
                     "podsim-schedule/1 or MSCCL XML (.xml), which do");
  }
  if (payload) {
    throw InputError("--bytes",
                     "the sizes are in the file; only MSCCL XML (.xml) leaves "
                     "them open");
  }
  return ReadScheduleJson(path, std::move(request));
}

void WriteScheduleFile(const std::string& path, const Schedule& schedule,
                       const CollectiveMeaning& meaning, const Slice& slice,
                       const std::function<void(const std::string&)>& write) {
  const std::string where = "-o " + path;
  if (IsMscclFile(path)) {
    WriteMscclXml(MakeMscclAlgorithm(schedule, meaning, slice, where), write);
  } else if (IsGoalFile(path)) {
    WriteGoal(MakeGoal(schedule, slice.topology, where), write);
  } else {
    WriteSchedule(schedule, meaning, slice, write);
  }
}

Violations JudgeSchedule(const ScheduleFile& file) {
  Violations all = file.violations;
  all.Append(VerifyFull(file.schedule, file.meaning, file.slice.topology),
             [&](const std::string& text) {
               return WithPlaces(text, file.op_places);
             });
  return all;
}

}  // namespace podsim
