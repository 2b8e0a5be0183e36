// libFuzzer entry, run by scripts/fuzz.sh: the words of a command line. Any
// text is a quantity, a range of payloads, a slice, a fault, a parameter or a
// lowering, or an InputError.
//
// Modules: base topology sim/byte_range.cc collective/lowering_spec.cc
// Built: sim engine workload hlo step cost collective schedule
#include <cmath>

#include "base/parse_units.h"
#include "collective/lowering.h"
#include "sim/byte_range.h"
#include "test/fuzz/entry.h"
#include "topology/slice.h"

namespace podsim {

void Fuzz(std::string_view text) {
  const std::string word(text);
  AnswersOrRefuses([&] { CHECK(ParseBytes(word, "--bytes") >= Bytes(0)); });
  AnswersOrRefuses(
      [&] { CHECK(std::isfinite(ParseDuration(word, "--set").value())); });
  AnswersOrRefuses(
      [&] { CHECK(std::isfinite(ParseBandwidth(word, "--set").value())); });
  AnswersOrRefuses([&] { CHECK(ParsePercent(word, "--tolerance") >= 0); });
  AnswersOrRefuses([&] { CHECK(!ParseByteList(word, "--bytes").empty()); });
  AnswersOrRefuses([&] { ParseLoweringSpec(word, "--lowering"); });
  AnswersOrRefuses([&] {
    SliceRequest request;
    request.spec = word;
    if (word.find(".json") != std::string::npos) return;  // another entry
    CHECK(MakeSlice(request).topology.chips() >= 1);
  });
  for (const bool fault : {false, true}) {
    AnswersOrRefuses([&] {
      SliceRequest request;
      request.spec = "v5p:4x4x4";
      (fault ? request.faults : request.sets) = {word};
      CHECK(MakeSlice(request).topology.chips() == 64);
    });
  }
}

}  // namespace podsim
