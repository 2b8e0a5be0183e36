#ifndef PODSIM_TEST_HLO_HLO_TEXTS_H_
#define PODSIM_TEST_HLO_HLO_TEXTS_H_

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "hlo/parser.h"

namespace podsim {

// One module that has a bit of everything: tables, comments, layouts, nested
// operands, tuples, a loop, raw values of every form.
inline constexpr const char* kSmallModule =
    R"(HloModule small, is_scheduled=true, input_output_alias={ {0}: (0, {}, must-alias) }, num_partitions=4, entry_computation_layout={(f32[8]{0}, s32[])->(f32[8]{0}, s32[])}, frontend_attributes={note="}, \"{"}

FileNames
1 "a.py"
2 'b.py'

StackFrames
1 {file_location_id=1 parent_frame_id=1}

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y), metadata={op_name="jit(f)/add"}
}

// The condition of the loop.
%cond (c: (f32[8], s32[])) -> pred[] {
  %c = (f32[8]{0}, s32[]) parameter(0)
  %i = s32[] get-tuple-element(%c), index=1
  %n = s32[]{:T(128)} constant(5)
  ROOT %lt = pred[] compare(%i, %n), direction=LT
}

%body (b: (f32[8], s32[])) -> (f32[8], s32[]) {
  %b = (f32[8]{0}, /*index=1*/ s32[]) parameter(0)
  %data = f32[8]{0:T(128)S(1)} get-tuple-element(%b), index=0
  %all = f32[8]{0} all-reduce(%data), channel_id=1,
      replica_groups=mesh['a'=2,'b'=2], device_ids=(3,2,1,0) {'b'},
      use_global_device_ids=true, to_apply=%add
  ROOT %out = (f32[8]{0}, s32[]) tuple(%all, s32[] add(s32[] %b#1, s32[] constant(1)))
}

ENTRY %main (p: f32[8], q: s32[]) -> (f32[8], s32[]) {
  %p = f32[8]{0} parameter(0), sharding={devices=[4]<=[4]}
  %q = s32[] parameter(1)
  %start = (f32[8]{0}, s32[]) tuple(%p, %q), control-predecessors={%q}
  ROOT %loop = (f32[8]{0}, s32[]) while(%start), condition=%cond, body=%body, backend_config={"known_trip_count":{"n":"5"}}
}, execution_thread="main"
)";

// Files of `folder` that end in .hlo or .txt, sorted.
inline std::vector<std::string> HloFilesIn(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".hlo" || extension == ".txt") {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<std::string> HloSamples() {
  return HloFilesIn(PODSIM_SOURCE_DIR "/workloads/hlo");
}

// The folder of other projects' HLO files; empty, with a warning, where
// PODSIM_CORPUS does not name one.
inline std::string HloCorpus() {
  const char* const corpus = std::getenv("PODSIM_CORPUS");
  if (corpus == nullptr) {
    WARN("skipped: PODSIM_CORPUS does not name a folder of real files");
    return "";
  }
  return std::string(corpus) + "/hlo";
}

// The only module of a text.
inline HloModule ParseOne(const std::string& text) {
  const std::vector<HloModule> modules = ParseHlo(text, "test.hlo");
  REQUIRE(modules.size() == 1);
  return modules[0];
}

inline const HloInstruction& InstructionOf(const HloComputation& computation,
                                           const std::string& name) {
  const auto found = std::find_if(
      computation.instructions.begin(), computation.instructions.end(),
      [&](const HloInstruction& i) { return i.name == name; });
  CAPTURE(name);
  REQUIRE(found != computation.instructions.end());
  return *found;
}

}  // namespace podsim

#endif  // PODSIM_TEST_HLO_HLO_TEXTS_H_
