#ifndef PODSIM_SIM_SWEEP_H_
#define PODSIM_SIM_SWEEP_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/journal.h"
#include "base/json_reader.h"
#include "collective/collective.h"
#include "sim/options.h"
#include "sim/result.h"
#include "topology/slice.h"

namespace podsim {

// What one point of a sweep asks for, a collective or a workload, as typed.
struct SweepPoint {
  std::optional<CollectiveKind> collective;
  std::string slice;  // empty: the workload's
  Bytes payload;      // of the collective
  std::string axes;   // of the collective; empty: all chips
  // Of the collective: one, or "auto". Of a workload: KIND=NAME texts.
  std::vector<std::string> lowerings;
  std::string network = "fluid";
  FoldMode fold = FoldMode::kAuto;
  std::vector<std::string> faults;
  std::vector<std::pair<std::string, std::string>> sets;  // parameter, value
  std::string workload;                    // path as in the sweep file
  std::optional<JsonValue> workload_json;  // its content
};

// The point on one line: what results of two sweeps are matched by. What has
// its default is left out, but for the lowering of a collective:
//   all-reduce slice=v5p:4x4x4 bytes=65536 axes=x,y lowering=auto
//   fold=off fault=chip:0,0,0 ici.hop_latency=500ns
std::string RequestOf(const SweepPoint& point);

// What the point asks of its slice.
SliceRequest RequestSlice(const SweepPoint& point);

// A podsim-sweep/1 file: the points, in order. Lists vary in the order
// collective, slice, bytes, axes, lowering, network, fold, fault, set,
// workload, the last one fastest; those that `zip` binds vary together, at the
// place of the first of them; a fault "each-cable" or "each-chip" is a point
// for each of those of its slice. Everything that does not depend on the slice
// is checked. Throws InputError at the JSON pointer of whatever is wrong.
std::vector<SweepPoint> ReadSweep(const JsonValue& json);

// What a point came to: a collective or a step; or, if it failed, an error.
struct SweepResult {
  Parameters parameters;
  std::optional<Point> collective;
  std::optional<StepResult> step;
  std::optional<std::string> error;
  std::vector<std::string> warnings;
};

// Throws InputError where the point cannot be run.
SweepResult RunPoint(const SweepPoint& point, const SimOptions& options);

// A point's result in the words of some output format.
struct SweepRow {
  std::string text;
  std::optional<std::string> error;
  std::vector<std::string> warnings;
};
using RowText =
    std::function<std::string(const SweepPoint&, const SweepResult&)>;

// The points whose requests have, for every text of `only`, a word that it
// matches, and no word that one of `except` matches. The texts are shell
// patterns (fnmatch): "lowering=bucket*", "bytes=6553[0-9]", "all-reduce".
// Throws InputError if a text matches no word of any point, or none is left.
std::vector<SweepPoint> Filtered(const std::vector<SweepPoint>& points,
                                 const std::vector<std::string>& only,
                                 const std::vector<std::string>& except);

// Which part of the points one run of a sweep takes: 1 <= number <= of.
struct Shard {
  std::size_t number = 1;
  std::size_t of = 1;
};

// The points of that part, as indices into `points`: distinct points are dealt
// in turn, and equal ones go where the first of them goes.
std::vector<std::size_t> ShardOf(const std::vector<SweepPoint>& points,
                                 const Shard& shard);

// Tells sweeps apart: 16 hexadecimal digits of all requests, in order, and of
// the files that they name.
std::string SweepFingerprint(const std::vector<SweepPoint>& points);

// Hears how many distinct points are done, how many of them failed, and how
// many there are; first of all, how many were done before.
using SweepProgress =
    std::function<void(std::size_t done, std::size_t failed, std::size_t of)>;

// Runs every distinct point in a process of its own, `jobs` at once, and
// returns the rows in the order of the points. A point that fails or crashes
// is a row with an error. A point that `journal` (if any) has is not run; it
// keeps each that ends well, and the others will run again.
std::vector<SweepRow> RunSweep(const std::vector<SweepPoint>& points,
                               const SimOptions& options, int jobs,
                               const RowText& row_text, Journal* journal,
                               const SweepProgress& progress);

}  // namespace podsim

#endif  // PODSIM_SIM_SWEEP_H_
