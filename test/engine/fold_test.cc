// A folded schedule must date every op as the unfolded one does.
#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "schedule/placement.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

// Every choice of period 1, 2 or the whole axis that folds something; on axes
// along which the program differs whole, or some blocks.
std::vector<Fold> FoldsOf(const Program& program, const Topology& topology) {
  std::vector<Fold> folds = {{}};
  for (std::size_t a = 0; a < topology.axes().size(); ++a) {
    const int size = topology.axes()[a].size;
    std::vector<int> periods = {size};
    if (InvariantAlong(program, topology, static_cast<int>(a))) {
      if (size > 2 && size % 2 == 0) periods.push_back(2);
      if (size > 1) periods.push_back(1);
    } else if (IsCut(program, topology, static_cast<int>(a))) {
      const int block = BlockLength(program, topology, static_cast<int>(a));
      for (int period = block; period < size; period += block) {
        if (size % period == 0) periods.push_back(period);
      }
    }
    std::vector<Fold> more;
    for (const Fold& fold : folds) {
      for (const int period : periods) {
        more.push_back(fold);
        more.back().periods.push_back(period);
      }
    }
    folds = more;
  }
  std::erase_if(
      folds, [&](const Fold& fold) { return !FoldsAnything(topology, fold); });
  return folds;
}

// Dates of the folded ops, and of the ops of every chip that they stand for.
void CompareDates(const Slice& slice, const Program& program, Bytes payload,
                  const Fold& fold, const Timeline& unfolded,
                  const Placement& all) {
  const FoldedGrid grid(slice.topology, fold);
  const Schedule schedule = Instantiate(program, slice.topology, fold, payload);
  const Timeline folded = RunPod(schedule, MakeNetwork(slice, grid));
  REQUIRE(Near(folded.makespan, unfolded.makespan));
  const Placement placement(program, grid);
  REQUIRE(placement.slots() == schedule.size());
  for (std::uint32_t step = 0; step < program.steps.size(); ++step) {
    for (std::uint32_t k = 0; k < all.SitesOf(step); ++k) {
      const std::uint32_t chip = all.SiteOf(step, k);
      Coordinates at = slice.topology.CoordinatesOf(ChipId(chip));
      for (std::size_t a = 0; a < fold.periods.size(); ++a) {
        at[a] %= fold.periods[a];
      }
      const std::uint32_t op = placement.SlotOf(step, grid.SiteAt(at));
      const std::uint32_t original = all.SlotOf(step, chip);
      REQUIRE(op != kNoOp);
      if (!Near(folded.start[op], unfolded.start[original]) ||
          !Near(folded.end[op], unfolded.end[original])) {
        FAIL("step " << step << " of chip " << chip << ": " << folded.start[op]
                     << " to " << folded.end[op] << ", unfolded "
                     << unfolded.start[original] << " to "
                     << unfolded.end[original]);
      }
    }
  }
}

// Compares all folds; returns how many.
int CompareFolds(const Slice& slice, const LoweringSpec& spec,
                 Collective collective) {
  if (WhyNot(spec, collective, slice.topology)) return 0;
  const Program program = Lower(spec, collective, slice.topology);
  if (program.steps.empty()) return 0;
  // Equal shards, parts, batches and halves.
  collective.payload = Bytes(std::int64_t{GroupSize(program, slice.topology)} *
                             program.split.sub_chunks() * 60);
  const Schedule schedule = Instantiate(
      program, slice.topology, NoFold(slice.topology), collective.payload);
  const Timeline unfolded = RunPod(schedule, MakeNetwork(slice));
  const FoldedGrid whole(slice.topology, NoFold(slice.topology));
  const Placement all(program, whole);
  REQUIRE(all.slots() == schedule.size());
  int folds = 0;
  for (const Fold& fold : FoldsOf(program, slice.topology)) {
    CAPTURE(slice.spec, ToText(spec, collective, slice.topology),
            ToText(collective.kind), collective.axes, collective.groups.size(),
            fold.periods);
    CompareDates(slice, program, collective.payload, fold, unfolded, all);
    ++folds;
  }
  return folds;
}

int CompareFolds(const Slice& slice, const LoweringSpec& spec,
                 CollectiveKind kind, const std::vector<int>& axes) {
  return CompareFolds(slice, spec,
                      {.kind = kind, .payload = Bytes(0), .axes = axes});
}

std::vector<LoweringSpec> AllSpecs() {
  std::vector<LoweringSpec> specs = WithProgram(SpecsToCompare());
  specs.push_back(Spec("bucket:batches=3"));
  specs.push_back(Spec("bucket-rotated:batches=2"));
  specs.push_back(Spec("bucket-rotated:fractions=balanced,batches=4"));
  return specs;
}

// Latencies that are no multiples of transfer times, so that nothing is
// simultaneous by accident.
constexpr Rates kRates{.bandwidth = 45e9, .alpha = 1.1e-9, .overhead = 3e-10};

TEST_CASE("folded equals unfolded, op by op", "[engine][property]") {
  const std::vector<std::pair<Shape, std::vector<bool>>> grids = {
      {{2}, {true}},
      {{5}, {true}},
      {{12}, {true}},
      {{4, 4}, {true, true}},
      {{4, 6}, {true, true}},
      {{3, 5}, {true, true}},
      {{4, 4}, {true, false}},
      {{3, 8}, {false, true}},
      {{2, 4}, {true, true}},
      {{4, 1, 4}, {true, false, true}},
      {{4, 4, 4}, {true, true, true}},
      {{2, 4, 4}, {false, true, true}},
      {{4, 3, 2}, {true, false, false}}};
  int folds = 0;
  for (const auto& [shape, wrap] : grids) {
    for (const Rates& rates : {kRates, Rates{.bandwidth = 1e9}}) {
      const Slice slice = MakeGridOf(shape, wrap, rates);
      for (const LoweringSpec& spec : AllSpecs()) {
        for (const CollectiveKind kind : kLoweredKinds) {
          for (const auto& axes : AllAxisSubsets(shape.size())) {
            folds += CompareFolds(slice, spec, kind, axes);
          }
        }
      }
    }
  }
  CHECK(folds > 5000);
}

// So many consecutive chips each.
std::vector<std::vector<ChipId>> RowsOf(int length, const Topology& topology) {
  std::vector<std::vector<ChipId>> groups;
  for (int id = 0; id < topology.chips(); ++id) {
    if (id % length == 0) groups.emplace_back();
    groups.back().emplace_back(id);
  }
  return groups;
}

TEST_CASE("folded blocks equal unfolded ones, op by op", "[engine][property]") {
  struct Row {
    Shape shape;
    std::vector<bool> wrap;
    int length;  // consecutive chip ids
  };
  const std::vector<Row> rows = {
      {{8}, {true}, 2},           {{12}, {false}, 3},
      {{6, 4}, {true, true}, 3},  {{4, 4}, {true, false}, 8},
      {{4, 6}, {true, true}, 12}, {{4, 3, 8}, {true, true, true}, 24}};
  int folds = 0;
  for (const Row& row : rows) {
    const Slice slice = MakeGridOf(row.shape, row.wrap, kRates);
    for (const LoweringSpec& spec : AllSpecs()) {
      for (const CollectiveKind kind : kLoweredKinds) {
        folds += CompareFolds(
            slice, spec, OnLists(kind, 0, RowsOf(row.length, slice.topology)));
      }
    }
  }
  CHECK(folds > 300);
}

TEST_CASE("folded direct messages equal unfolded ones, op by op",
          "[engine][property]") {
  int folds = 0;
  for (const Shape& shape :
       {Shape{5}, Shape{6}, Shape{4, 4}, Shape{3, 4}, Shape{4, 2, 4}}) {
    const Slice slice = MakeTorus(shape, kRates);
    for (const CollectiveKind kind :
         {CollectiveKind::kAllToAll, CollectiveKind::kAllGather,
          CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce}) {
      for (const auto& axes : AllAxisSubsets(shape.size())) {
        folds += CompareFolds(slice, Spec("direct:ties=halves"), kind, axes);
      }
    }
  }
  CHECK(folds > 100);
}

TEST_CASE("folded equals unfolded on slices of up to 256 chips",
          "[engine][property][slow]") {
  const std::vector<std::pair<Shape, std::vector<bool>>> grids = {
      {{64}, {true}},
      {{16, 16}, {true, true}},
      {{8, 16}, {true, true}},
      {{16, 8}, {true, false}},
      {{4, 8, 8}, {true, true, true}},
      {{4, 4, 16}, {true, false, true}}};
  int folds = 0;
  for (const auto& [shape, wrap] : grids) {
    const Slice slice = MakeGridOf(shape, wrap, kRates);
    for (const LoweringSpec& spec : AllSpecs()) {
      for (const CollectiveKind kind : kLoweredKinds) {
        const std::vector<int> axes = AllAxes(slice.topology);
        folds += CompareFolds(slice, spec, kind, axes);
      }
    }
  }
  CHECK(folds > 500);
}

TEST_CASE("a folded pod takes the time of the formula", "[engine]") {
  // 16x20x28 chips on one representative chip; rings short, equal fractions of
  // one axis each are the bucket: sum of h_j a + (P-1)/(2P) S/B.
  constexpr Rates kPod{.bandwidth = 90e9, .alpha = 1e-6, .overhead = 0};
  const Shape shape = {16, 20, 28};
  const Slice slice = MakeTorus(shape, kPod);
  const double chips = ChipsOf(shape);
  const auto payload = std::int64_t{ChipsOf(shape)} * 2 * 1000;
  const Collective collective =
      OnAllChips(CollectiveKind::kAllReduce, payload, slice);
  const Program program = Lower(Spec("bucket"), collective, slice.topology);
  const Fold fold{{1, 1, 1}};
  const Schedule schedule =
      Instantiate(program, slice.topology, fold, collective.payload);
  // Two per step: 8 + 10 + 14 steps, there and back.
  CHECK(schedule.size() == 2 * 2 * 32);
  const Timeline timeline =
      RunPod(schedule, MakeNetwork(slice, FoldedGrid(slice.topology, fold)));
  CHECK(Near(timeline.makespan,
             2 * (32 * 1e-6 + (chips - 1) / (2 * chips) *
                                  static_cast<double>(payload) / 90e9)));
}

}  // namespace
}  // namespace podsim
