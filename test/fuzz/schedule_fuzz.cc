// libFuzzer entry, run by scripts/fuzz.sh: any text is a podsim-schedule/1
// file, right or with violations, or an InputError.
//
// Modules: base topology schedule
// Seeds: test/data/broken_schedules
#include "schedule/schedule_file.h"
#include "schedule/schedule_json.h"
#include "test/fuzz/entry.h"

namespace podsim {

void Fuzz(std::string_view text) {
  const FuzzFile file(text, ".json");
  AnswersOrRefuses([&] {
    const ScheduleFile schedule = ReadScheduleJson(file.path(), {});
    const Violations violations = JudgeSchedule(schedule);
    CHECK(violations.empty() || !violations.texts().empty());
  });
}

}  // namespace podsim
