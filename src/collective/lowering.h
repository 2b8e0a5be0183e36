#ifndef PODSIM_COLLECTIVE_LOWERING_H_
#define PODSIM_COLLECTIVE_LOWERING_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collective/collective.h"
#include "schedule/program.h"
#include "schedule/schedule.h"
#include "topology/slice.h"

namespace podsim {

// How one axis is walked inside a bucket.
enum class AxisPrimitive { kRing, kSplit, kShort };

// Which way a message goes where both ways around an axis are equally long: by
// the parity of the sender's coordinate, or half of it each way.
enum class Ties { kDefault, kParity, kHalves };

// Where the trees of tree-packing have their roots: all chips in turn, those
// closest to all others, or both by turns.
enum class Roots { kBest, kMix, kAll, kCentre };

// A lowering and its parameters, as the user writes them:
// "bucket-rotated:fractions=0.3/0.3/0.4,batches=4".
struct LoweringSpec {
  std::string name;
  AxisPrimitive axis_primitive = AxisPrimitive::kShort;
  int batches = 1;
  std::vector<double> fractions;  // empty: equal
  bool balanced = false;          // fractions=balanced
  int chunks = 0;                 // of a pipeline; 0: the best number
  int window = 0;                 // messages in flight per chip; 0: all
  Ties ties = Ties::kDefault;     // of direct messages
  int sub_chunks = 0;             // a shard is cut into; 0: the best number
  int ports = 0;                  // used at once, 1 or 2d; 0: the best number
  bool far_first = false;         // the farthest are served first
  bool bidirectional = false;     // both ways around
  Seconds step_compute{0};        // of one product beside the transfers
  int trees = 0;                  // packed into a slice; 0: the best number
  int edge_copies = 0;            // trees that may share a cable; 0: the best
  std::string plan = {};          // of rounds; empty: axis after axis
  int cut = -1;                   // rounds in two phases; -1: all, or no choice
  Roots roots = Roots::kBest;     // of packed trees
  int slack = -1;   // chunks that a tree may run ahead; -1: the best number
  int lat = -1;     // rounds that a start-up lasts in a plan; -1: the best
  int passes = -1;  // of a search; -1: the best number
  int parts = 0;    // a block is cut into; 0: the best number
  int power = 0;    // of a link's load in its cost; 0: the best
};

inline constexpr int kMostChunks = 1024;  // that `0` means

// What has no symmetry: the schedule of every chip, and what it must compute.
struct WholeSchedule {
  Schedule schedule;
  CollectiveMeaning meaning;
};

// One row of the table: a lowering and what is known about it.
struct Lowering {
  const char* name;
  const char* help;  // one line
  // Parameters it takes: members of LoweringSpec.
  std::vector<std::string> parameters;
  std::vector<CollectiveKind> kinds;
  const char* preconditions;
  const char* time;  // of its first kind; a = o + alpha
  const char* source;
  // Why it does not apply, and what does; nullopt if it applies.
  std::optional<std::string> (*why_not)(const Collective&, const Topology&,
                                        const LoweringSpec&);
  // One of the two, only where it applies. The steps of one chip:
  Program (*lower)(const Collective&, const Topology&,
                   const LoweringSpec&) = nullptr;
  // Where there are both: whether all chips do the same here.
  bool (*is_symmetric)(const Collective&, const Topology&,
                       const LoweringSpec&) = nullptr;
  // Or, without symmetry, those of all chips. These take groups given as lists,
  // faults, twists and slices without axes unless `why_not` objects.
  WholeSchedule (*build)(const Collective&, const Topology&,
                         const LoweringSpec&) = nullptr;
  // About how many steps of one chip, or transfers of all (of merged messages
  // also what their chunks cost). Of the latter: a time that it cannot beat.
  std::uint64_t (*count)(const Collective&, const Topology&,
                         const LoweringSpec&) = nullptr;
  Seconds (*at_least)(const Collective&, const Slice&,
                      const LoweringSpec&) = nullptr;
  bool one_hop = false;  // every transfer: cheap to simulate
  bool attains = false;  // that time, where links are alike
  // Of several hops, yet soon simulated: transfers start at few dates.
  bool few_dates = false;
  bool twists = false;    // its program suits all axes of a twisted slice
  bool over_dcn = false;  // groups may span slices
  // The best number of chunks, where `chunks` is a parameter.
  int (*best_chunks)(const Collective&, const Slice&) = nullptr;
  // The spec with all its parameters chosen, where one depends on another or
  // there are several.
  LoweringSpec (*resolve)(const LoweringSpec&, const Collective&,
                          const Slice&) = nullptr;
};

std::span<const Lowering> Lowerings();
const Lowering* FindLowering(const std::string& name);

// Throws InputError{where, ..} for unknown names, keys and values.
LoweringSpec ParseLoweringSpec(const std::string& text,
                               const std::string& where);

// The spec with every 0 that means the best number replaced by it.
LoweringSpec Resolve(const LoweringSpec& spec, const Collective& collective,
                     const Slice& slice);

// The spec with every parameter resolved for this collective, keys in order,
// numbers as %.6g:
// "bucket-rotated:axis_primitive=short,batches=1,fractions=..".
std::string ToText(const LoweringSpec& spec, const Collective& collective,
                   const Topology& topology);

const char* ToText(AxisPrimitive primitive);

// Where a row has a program only, all of these take lists of groups that are
// equal blocks of consecutive coordinates as one block alone (block_view.h);
// its members see axes.

// Whether the kind, the group and the slice suit the lowering, dead links
// included. The reason names what to use instead.
std::optional<std::string> WhyNot(const LoweringSpec& spec,
                                  const Collective& collective,
                                  const Topology& topology);

// Whether Lower or Build makes its steps.
bool HasProgram(const LoweringSpec& spec, const Collective& collective,
                const Topology& topology);
Program Lower(const LoweringSpec& spec, const Collective& collective,
              const Topology& topology);
// Of a resolved spec.
WholeSchedule Build(const LoweringSpec& spec, const Collective& collective,
                    const Topology& topology);

// The fractions that the spec means on these axes (in bucket-rotated's order of
// parts); nullopt if `balanced` would need a negative one.
std::optional<std::vector<double>> ResolveFractions(
    const LoweringSpec& spec, const Collective& collective,
    const Topology& topology);

// About how many steps Lower, or transfers Build, would emit.
std::uint64_t CountSteps(const LoweringSpec& spec, const Collective& collective,
                         const Topology& topology);

// What a resolved spec takes at least, without launch. It must say so (its row
// has `at_least`).
Seconds AtLeast(const LoweringSpec& spec, const Collective& collective,
                const Slice& slice);

// Around healthy rings bfb sends the fewest bytes over every link in the fewest
// steps, and all links at once: batches and trees found by a search only add
// start-ups. Without faults direct is as good as detour.
bool IsOutdone(const LoweringSpec& spec, const Collective& collective,
               const Topology& topology);

// Another spec of the table means the same steps here: an axis_primitive where
// no axis wraps, balanced fractions where they are equal.
bool IsRedundant(const LoweringSpec& spec, const Collective& collective,
                 const Topology& topology);

// What `compare` runs: every lowering, bucket and bucket-rotated once per
// axis_primitive.
std::vector<LoweringSpec> SpecsToCompare();

// What `auto` chooses among: the same, with default parameters, and
// bucket-rotated with balanced fractions and 1, 4 and 16 batches; without
// tree-packing and detour, which take long to plan.
std::vector<LoweringSpec> SpecsForAuto();

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_LOWERING_H_
