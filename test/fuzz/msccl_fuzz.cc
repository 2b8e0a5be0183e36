// libFuzzer entry, run by scripts/fuzz.sh: any text is an MSCCL algorithm, or
// an InputError; as a schedule it is right or has violations.
//
// Modules: base topology schedule
#include "schedule/msccl_xml.h"
#include "schedule/schedule_file.h"
#include "test/fuzz/entry.h"

namespace podsim {

void Fuzz(std::string_view text) {
  const FuzzFile file(text, ".xml");
  AnswersOrRefuses([&] {
    const MemoryLimit limit(MostHeap(text));
    ReadMscclXml(file.path());
  });
  AnswersOrRefuses([&] {
    SliceRequest request;
    request.spec = "v5e:2x2";
    JudgeSchedule(ReadScheduleFile(file.path(), request, Bytes(1 << 20)));
  });
}

}  // namespace podsim
