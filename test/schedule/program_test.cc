#include "schedule/program.h"

#include <catch2/catch.hpp>

#include "schedule/placement.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

constexpr ChunkFlow kGather{.all_contribute = false, .all_receive = true};

ProgramBuilder Builder() { return {ChunkSplit{}, kGather, {0}}; }

PatternId OwnBlock(ProgramBuilder& builder) {
  return builder.Pattern({}, 0, Half::kBoth);
}

TEST_CASE("steps of one lane at the same chips follow one another",
          "[schedule]") {
  ProgramBuilder builder = Builder();
  const PatternId own = OwnBlock(builder);
  builder.Send(/*lane=*/0, 0, Sign::kPlus, own, Mode::kCopy, {});
  builder.Send(/*lane=*/1, 0, Sign::kMinus, own, Mode::kCopy, {});
  builder.Send(/*lane=*/0, 0, Sign::kPlus, own, Mode::kCopy, {});
  builder.Send(/*lane=*/1, 0, Sign::kMinus, own, Mode::kCopy, {});
  const Program program = std::move(builder).Build();
  REQUIRE(program.steps.size() == 4);
  CHECK(program.steps[0].lane_previous == kNoStep);
  CHECK(program.steps[1].lane_previous == kNoStep);
  CHECK(program.steps[2].lane_previous == 0);
  CHECK(program.steps[3].lane_previous == 1);
}

TEST_CASE("a lane at one coordinate knows nothing of other coordinates",
          "[schedule]") {
  ProgramBuilder builder = Builder();
  const PatternId own = OwnBlock(builder);
  for (const int coordinate : {0, 1, 0, 1}) {
    builder.Where(0, coordinate);
    builder.Send(/*lane=*/0, 0, Sign::kPlus, own, Mode::kCopy, {});
  }
  const Program program = std::move(builder).Build();
  CHECK(program.steps[0].lane_previous == kNoStep);
  CHECK(program.steps[1].lane_previous == kNoStep);
  CHECK(program.steps[2].lane_previous == 0);
  CHECK(program.steps[3].lane_previous == 1);
  CHECK(program.steps[2].where_axis == 0);
  CHECK(program.steps[2].where_coordinate == 0);
}

TEST_CASE("Everywhere ends Where", "[schedule]") {
  ProgramBuilder builder = Builder();
  const PatternId own = OwnBlock(builder);
  builder.Where(0, 2);
  builder.Send(0, 0, Sign::kPlus, own, Mode::kCopy, {});
  builder.Everywhere();
  builder.Send(1, 0, Sign::kMinus, own, Mode::kCopy, {});
  const Program program = std::move(builder).Build();
  CHECK(program.steps[0].where_axis == 0);
  CHECK(program.steps[1].where_axis < 0);
}

TEST_CASE("what the previous step of the lane waits for is kept apart",
          "[schedule]") {
  ProgramBuilder builder = Builder();
  const PatternId own = OwnBlock(builder);
  const StepId first = builder.Send(0, 0, Sign::kPlus, own, Mode::kCopy, {});
  const StepId other = builder.Send(1, 0, Sign::kMinus, own, Mode::kCopy, {});
  const After arrival{first, true};
  const After sent{other, false};
  builder.Send(2, 0, Sign::kPlus, own, Mode::kCopy, std::vector{arrival});
  builder.Send(2, 0, Sign::kPlus, own, Mode::kCopy, std::vector{arrival, sent});
  const Program program = std::move(builder).Build();
  const ProgramStep& last = program.steps[3];
  CHECK(last.own_after == 1);
  REQUIRE(last.end_after - last.first_after == 2);
  CHECK(program.after[last.first_after] == sent);
  CHECK(program.after[last.first_after + 1] == arrival);
}

TEST_CASE("transfers are counted without being built", "[schedule]") {
  const Slice slice = MakeGridOf({3, 4}, {false, true});
  ProgramBuilder builder = Builder();
  const PatternId own = OwnBlock(builder);
  builder.Send(0, 1, Sign::kPlus, own, Mode::kCopy, {});
  builder.Where(0, 1);
  builder.Send(1, 0, Sign::kPlus, own, Mode::kCopy, {});
  builder.Where(1, 2);
  builder.Send(2, 0, Sign::kPlus, own, Mode::kCopy, {});
  // 12 chips; 4 chips with x = 1; 3 chips with y = 2.
  CHECK(CountTransfers(std::move(builder).Build(), slice.topology) ==
        12 + 4 + 3);
}

TEST_CASE("an axis is invariant if it wraps or is unused, and is in no Where",
          "[schedule]") {
  const Slice slice = MakeGridOf({3, 4, 2}, {false, true, false});
  ProgramBuilder builder = Builder();
  const PatternId own = OwnBlock(builder);
  builder.Send(0, 1, Sign::kPlus, own, Mode::kCopy, {});
  const Program along_y = std::move(builder).Build();
  CHECK(InvariantAlong(along_y, slice.topology, 0));
  CHECK(InvariantAlong(along_y, slice.topology, 1));

  ProgramBuilder second = Builder();
  const PatternId block = OwnBlock(second);
  second.Send(0, 0, Sign::kPlus, block, Mode::kCopy, {});
  second.Where(1, 3);
  second.Send(1, 2, Sign::kPlus, block, Mode::kCopy, {});
  const Program mixed = std::move(second).Build();
  CHECK_FALSE(InvariantAlong(mixed, slice.topology, 0));  // uses the mesh axis
  CHECK_FALSE(InvariantAlong(mixed, slice.topology, 1));  // Where
  CHECK_FALSE(InvariantAlong(mixed, slice.topology, 2));
}

TEST_CASE("the count of transfers is that of the schedule",
          "[schedule][property]") {
  for (const auto& [shape, wrap] :
       std::vector<std::pair<Shape, std::vector<bool>>>{
           {{5}, {true}},
           {{6}, {false}},
           {{4, 3}, {true, false}},
           {{2, 3, 4}, {false, true, true}}}) {
    const Slice slice = MakeGridOf(shape, wrap);
    for (const LoweringSpec& spec : WithProgram(SpecsToCompare())) {
      for (const CollectiveKind kind : kLoweredKinds) {
        const Collective collective = OnAllChips(kind, 1 << 20, slice);
        if (WhyNot(spec, collective, slice.topology)) continue;
        CAPTURE(slice.spec, spec.name, ToText(kind));
        const Lowered lowered = LowerOn(slice, spec, collective);
        CHECK(CountTransfers(lowered.program, slice.topology) ==
              lowered.schedule.transfers());
      }
    }
  }
}

}  // namespace
}  // namespace podsim
