// Proofs of every lowering: exhaustive on small slices, random on larger ones,
// and a comparison of the two verifiers on correct and on broken programs.
#include <catch2/catch.hpp>

#include "schedule/placement.h"
#include "schedule/verifier.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

std::string FirstOf(const Violations& violations) {
  return violations.empty() ? "none" : violations.texts().front();
}

bool AllHaveBytes(const CollectiveMeaning& meaning) {
  for (const Chunk& chunk : meaning.chunks) {
    if (chunk.bytes.value() == 0) return false;
  }
  return true;
}

// VerifyFull, and VerifyOrbit where it claims to prove the same. Returns
// whether it did.
bool Prove(const Slice& slice, const LoweringSpec& spec,
           const Collective& collective) {
  const Lowered lowered = LowerOn(slice, spec, collective);
  const Violations full =
      VerifyFull(lowered.schedule, lowered.meaning, slice.topology);
  const bool orbit_applies = AllHaveBytes(lowered.meaning);
  const Violations orbit = orbit_applies
                               ? VerifyOrbit(lowered.program, slice.topology)
                               : Violations();
  if (!full.empty() || !orbit.empty()) {
    CAPTURE(slice.spec, ToText(spec, collective, slice.topology),
            ToText(collective.kind), collective.payload.value(),
            collective.axes, FirstOf(full), FirstOf(orbit));
    CHECK(full.empty());
    CHECK(orbit.empty());
  }
  return orbit_applies;
}

// ---- exhaustive: all slices of up to 32 chips ---------------------------

constexpr int kMaxChips = 32;
constexpr int kPayloads = 6;
constexpr int kKinds = 3;

struct Proofs {
  int schedules = 0;
  int orbits = 0;
};

// `applies` picks the sub-grids by the wraps of their axes.
template <class Applies>
Proofs ProveEverywhere(const LoweringSpec& spec, Applies applies) {
  Proofs proofs;
  for (const Shape& shape : AllShapes(kMaxChips)) {
    for (const auto& wrap : AllWraps(shape)) {
      const Slice slice = MakeGridOf(shape, wrap);
      for (const auto& axes : AllAxisSubsets(shape.size())) {
        std::int64_t n = 1;
        std::vector<bool> wraps;
        for (const int axis : axes) {
          n *= shape[static_cast<std::size_t>(axis)];
          wraps.push_back(wrap[static_cast<std::size_t>(axis)]);
        }
        if (!applies(wraps)) continue;
        for (const CollectiveKind kind : kLoweredKinds) {
          for (const std::int64_t payload :
               {std::int64_t{0}, std::int64_t{1}, n - 1, n, n + 1,
                std::int64_t{1} << 20}) {
            const Collective collective{
                .kind = kind, .payload = Bytes(payload), .axes = axes};
            if (WhyNot(spec, collective, slice.topology)) continue;
            ++proofs.schedules;
            proofs.orbits += Prove(slice, spec, collective) ? 1 : 0;
          }
        }
      }
    }
  }
  return proofs;
}

// Shapes of 1, 2 and 3 axes: 31, 56, 38 with at most 32 chips, in all orders.
constexpr int kShapes[] = {31, 56, 38};

// Sub-grids spanned by one wrapped (or: one unwrapped) axis: of k axes, k times
// half of the 2^k wraps.
constexpr int kLines = 31 * 1 + 56 * 2 * 2 + 38 * 3 * 4;
// All sub-grids: 2^k wraps, 2^k - 1 choices of axes.
constexpr int kSubGrids = 31 * 2 * 1 + 56 * 4 * 3 + 38 * 8 * 7;
// Without those of unwrapped axes only: the sum of 2^k - 2^(k-j) over the
// choices of j axes.
constexpr int kWrappedSubGrids =
    31 * 1 + 56 * (2 * 2 + 3) + 38 * (3 * 4 + 3 * 6 + 7);

TEST_CASE("the shapes that the proofs are counted with", "[collective]") {
  int found[3] = {};
  for (const Shape& shape : AllShapes(kMaxChips)) ++found[shape.size() - 1];
  for (int k = 0; k < 3; ++k) CHECK(found[k] == kShapes[k]);
}

bool OneWrapped(const std::vector<bool>& wraps) {
  return wraps == std::vector<bool>{true};
}
bool OneUnwrapped(const std::vector<bool>& wraps) {
  return wraps == std::vector<bool>{false};
}
// Unwrapped axes always run lines: there the primitives do not differ.
bool SomeWrapped(const std::vector<bool>& wraps) {
  return std::find(wraps.begin(), wraps.end(), true) != wraps.end();
}
bool Any(const std::vector<bool>&) { return true; }

TEST_CASE("ring is proved on all slices of up to 32 chips",
          "[collective][slow]") {
  CHECK(ProveEverywhere(Spec("ring"), OneWrapped).schedules ==
        kLines * kKinds * kPayloads);
}

TEST_CASE("ring-split is proved on all slices of up to 32 chips",
          "[collective][slow]") {
  CHECK(ProveEverywhere(Spec("ring-split"), OneWrapped).schedules ==
        kLines * kKinds * kPayloads);
}

TEST_CASE("ring-short is proved on all slices of up to 32 chips",
          "[collective][slow]") {
  CHECK(ProveEverywhere(Spec("ring-short"), OneWrapped).schedules ==
        kLines * kKinds * kPayloads);
}

TEST_CASE("line is proved on all slices of up to 32 chips",
          "[collective][slow]") {
  CHECK(ProveEverywhere(Spec("line"), OneUnwrapped).schedules ==
        kLines * kKinds * kPayloads);
}

TEST_CASE("bucket is proved on all slices of up to 32 chips",
          "[collective][slow]") {
  CHECK(ProveEverywhere(Spec("bucket"), Any).schedules ==
        kSubGrids * kKinds * kPayloads);
  for (const std::string primitive : {"ring", "split"}) {
    CHECK(
        ProveEverywhere(Spec("bucket:axis_primitive=" + primitive), SomeWrapped)
            .schedules == kWrappedSubGrids * kKinds * kPayloads);
  }
}

TEST_CASE("bucket-rotated is proved on all slices of up to 32 chips",
          "[collective][slow]") {
  const Proofs proofs = ProveEverywhere(Spec("bucket-rotated"), Any);
  CHECK(proofs.schedules == kSubGrids * kKinds * kPayloads);
  CHECK(proofs.orbits >= kSubGrids * kKinds);  // 1 MiB at least
  for (const std::string primitive : {"ring", "split"}) {
    CHECK(ProveEverywhere(Spec("bucket-rotated:axis_primitive=" + primitive),
                          SomeWrapped)
              .schedules == kWrappedSubGrids * kKinds * kPayloads);
  }
}

// ---- random: up to 128 chips, any parameters ----------------------------

std::vector<double> RandomFractions(Random& random, std::size_t parts) {
  std::vector<double> fractions;
  double sum = 0;
  for (std::size_t k = 0; k < parts; ++k) {
    fractions.push_back(random.OneIn(6) ? 0.0 : random.Unit());
    sum += fractions.back();
  }
  if (sum == 0) fractions[0] = sum = 1;
  for (double& share : fractions) share /= sum;
  return fractions;
}

struct RandomCase {
  Slice slice;
  LoweringSpec spec;
  Collective collective;
};

// A case whose lowering applies.
RandomCase MakeRandomCase(Random& random, int min_chips, int max_chips) {
  for (;;) {
    const Shape shape = RandomShape(random, min_chips, max_chips);
    RandomCase c{.slice = MakeGridOf(shape, RandomWrap(random, shape)),
                 .spec = {.name = random.Pick(kAxisLowerings), .fractions = {}},
                 .collective = {}};
    c.collective.kind = random.Pick(kLoweredKinds);
    const auto subsets = AllAxisSubsets(shape.size());
    c.collective.axes = random.OneIn(2) ? subsets.back() : random.Pick(subsets);
    c.collective.payload =
        Bytes(random.OneIn(3) ? random.Between(0, 2 * max_chips)
                              : random.Between(0, std::int64_t{1} << 30));
    if (c.spec.name.starts_with("bucket")) {
      c.spec.axis_primitive = random.Pick(
          {AxisPrimitive::kRing, AxisPrimitive::kSplit, AxisPrimitive::kShort});
      c.spec.batches = random.OneIn(2) ? 1 : random.Int(2, 5);
    }
    const std::size_t parts = ActiveAxes(c.collective, c.slice.topology).size();
    if (c.spec.name == "bucket-rotated" && parts > 0) {
      c.spec.balanced = random.OneIn(3);
      if (!c.spec.balanced && random.OneIn(2)) {
        c.spec.fractions = RandomFractions(random, parts);
      }
    }
    if (!WhyNot(c.spec, c.collective, c.slice.topology)) return c;
  }
}

// The replay of all chunks looks for every order among all transfers: larger
// schedules take seconds each.
constexpr std::uint64_t kMaxTransfers = 2500;

void ProveRandom(std::uint64_t first_seed, int count, int min_chips,
                 int max_chips) {
  int orbits = 0;
  std::uint64_t seed = first_seed;
  for (int proved = 0; proved < count; ++seed) {
    Random random(seed);
    const RandomCase c = MakeRandomCase(random, min_chips, max_chips);
    const Program program = Lower(c.spec, c.collective, c.slice.topology);
    if (CountTransfers(program, c.slice.topology) > kMaxTransfers) continue;
    CAPTURE(seed);
    ++proved;
    orbits += Prove(c.slice, c.spec, c.collective) ? 1 : 0;
  }
  CHECK(orbits > count / 4);
}

TEST_CASE("1700 random schedules on up to 64 chips are proved",
          "[collective][property][slow]") {
  ProveRandom(1, 1700, 2, 64);
}

TEST_CASE("300 random schedules on 65 to 128 chips are proved",
          "[collective][property][slow]") {
  ProveRandom(100'001, 300, 65, 128);
}

// ---- broken programs: both verifiers must agree -------------------------

// One step of a program, as it was sent.
struct SentStep {
  ProgramStep step;
  ProgramPattern pattern;
  std::vector<After> after;
};

std::vector<SentStep> SentSteps(const Program& program) {
  std::vector<SentStep> steps;
  for (const ProgramStep& step : program.steps) {
    const auto first = program.after.begin() + step.first_after;
    const auto end = program.after.begin() + step.end_after;
    steps.push_back(
        {step, program.patterns[step.pattern.value()], {first, end}});
  }
  return steps;
}

Program Rebuild(const Program& original, const std::vector<SentStep>& steps) {
  ProgramBuilder builder(original.split, original.flow, original.group_axes);
  for (const SentStep& sent : steps) {
    if (sent.step.where_axis < 0) {
      builder.Everywhere();
    } else {
      builder.Where(sent.step.where_axis, sent.step.where_coordinate);
    }
    const PatternId pattern = builder.Pattern(
        sent.pattern.owners, sent.pattern.part, sent.pattern.half);
    builder.Send(sent.step.lane, sent.step.axis, sent.step.sign, pattern,
                 sent.step.mode, sent.after);
  }
  return std::move(builder).Build();
}

// Removes step k; what waited for it waits for nothing instead.
void Drop(std::size_t k, std::vector<SentStep>& steps) {
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(k));
  for (SentStep& sent : steps) {
    std::vector<After> kept;
    for (const After& after : sent.after) {
      if (after.step.value() == k) continue;
      const std::uint32_t moved = after.step.value() > k ? 1 : 0;
      kept.push_back({StepId(after.step.value() - moved), after.arrival});
    }
    sent.after = kept;
  }
}

// One random fault. Returns its name.
std::string Break(Random& random, const Program& program,
                  const Topology& topology, std::vector<SentStep>& steps) {
  const auto k = static_cast<std::size_t>(
      random.Between(0, static_cast<std::int64_t>(steps.size()) - 1));
  SentStep& sent = steps[k];
  switch (random.Int(0, 8)) {
    case 0:
      Drop(k, steps);
      return "drop step " + std::to_string(k);
    case 1:
      sent.step.sign = Opposite(sent.step.sign);
      return "turn step " + std::to_string(k);
    case 2:
      sent.step.mode =
          sent.step.mode == Mode::kCopy ? Mode::kReduce : Mode::kCopy;
      return "other mode of step " + std::to_string(k);
    case 3:
      if (!program.split.halves) break;
      sent.pattern.half =
          sent.pattern.half == Half::kBoth
              ? random.Pick({Half::kFirst, Half::kSecond})
              : random.Pick(
                    std::vector{Half::kBoth, sent.pattern.half == Half::kFirst
                                                 ? Half::kSecond
                                                 : Half::kFirst});
      return "other half in step " + std::to_string(k);
    case 4: {
      const auto axis = static_cast<std::size_t>(
          random.Int(0, static_cast<int>(topology.axes().size()) - 1));
      sent.pattern.owners.lo[axis] += random.OneIn(2) ? 1 : -1;
      return "other owners in step " + std::to_string(k);
    }
    case 5:
    case 6:
      if (sent.after.empty()) break;
      sent.after.erase(
          sent.after.begin() +
          random.Between(0, static_cast<std::int64_t>(sent.after.size()) - 1));
      return "drop a wait of step " + std::to_string(k);
    case 7:
      if (sent.after.empty()) break;
      sent.after[0].arrival = !sent.after[0].arrival;
      return "wait for the other end in step " + std::to_string(k);
    default:
      steps.push_back(sent);  // once more, in the same lane, at the end
      return "repeat step " + std::to_string(k);
  }
  return "nothing";
}

// Compares the verdicts on `count` programs with one fault each; returns how
// many the replay finds wrong.
int CompareOnMutants(std::uint64_t first_seed, int count, int min_chips,
                     int max_chips) {
  int broken = 0;
  std::uint64_t seed = first_seed;
  for (int compared = 0; compared < count; ++seed) {
    Random random(seed);
    RandomCase c = MakeRandomCase(random, min_chips, max_chips);
    c.spec.fractions.clear();  // a share of 0 would leave chunks empty
    c.spec.balanced = false;
    c.collective.payload = Bytes(1 << 20);
    const Program program = Lower(c.spec, c.collective, c.slice.topology);
    if (program.steps.empty() ||
        CountTransfers(program, c.slice.topology) > kMaxTransfers) {
      continue;
    }
    ++compared;
    std::vector<SentStep> steps = SentSteps(program);
    const std::string fault = Break(random, program, c.slice.topology, steps);
    CAPTURE(seed, c.slice.spec, ToText(c.spec, c.collective, c.slice.topology),
            ToText(c.collective.kind), c.collective.axes, fault);
    const Program mutant = Rebuild(program, steps);
    const Schedule schedule =
        Instantiate(mutant, c.slice.topology, NoFold(c.slice.topology),
                    c.collective.payload);
    const CollectiveMeaning meaning =
        MeaningOf(mutant, c.slice.topology, ToText(c.collective.kind),
                  c.collective.payload);
    REQUIRE(AllHaveBytes(meaning));
    const Violations full = VerifyFull(schedule, meaning, c.slice.topology);
    const Violations orbit = VerifyOrbit(mutant, c.slice.topology);
    CAPTURE(FirstOf(full), FirstOf(orbit));
    CHECK(full.empty() == orbit.empty());
    broken += full.empty() ? 0 : 1;
  }
  return broken;
}

// Some faults do no harm: a wait that a lane implies, a repeated copy.

TEST_CASE("orbit and replay agree on 8000 small programs with a fault",
          "[collective][property][slow]") {
  CHECK(CompareOnMutants(0, 8000, 2, 16) > 4000);
}

TEST_CASE("orbit and replay agree on 400 larger programs with a fault",
          "[collective][property][slow]") {
  // Also groups of more than 64 chips, where sums are fingerprints.
  CHECK(CompareOnMutants(200'000, 400, 40, 100) > 200);
}

TEST_CASE("a rebuilt program is the same program", "[collective]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const RandomCase c = MakeRandomCase(random, 2, 16);
    CAPTURE(seed, c.slice.spec, c.spec.name);
    const Program program = Lower(c.spec, c.collective, c.slice.topology);
    const Program again = Rebuild(program, SentSteps(program));
    REQUIRE(again.steps.size() == program.steps.size());
    const Schedule a =
        Instantiate(program, c.slice.topology, NoFold(c.slice.topology),
                    c.collective.payload);
    const Schedule b =
        Instantiate(again, c.slice.topology, NoFold(c.slice.topology),
                    c.collective.payload);
    REQUIRE(a.size() == b.size());
    for (std::uint32_t op = 0; op < a.size(); ++op) {
      const auto after_a = a.after(OpId(op)), after_b = b.after(OpId(op));
      REQUIRE(std::is_permutation(after_a.begin(), after_a.end(),
                                  after_b.begin(), after_b.end()));
      REQUIRE(a.bytes(OpId(op)) == b.bytes(OpId(op)));
      REQUIRE(a.route(OpId(op))[0] == b.route(OpId(op))[0]);
    }
  }
}

}  // namespace
}  // namespace podsim
