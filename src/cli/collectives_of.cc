#include "cli/collectives_of.h"

#include "base/error.h"
#include "base/json_reader.h"
#include "base/parse_units.h"
#include "collective/byte_matrix.h"
#include "collective/groups.h"
#include "sim/byte_range.h"

namespace podsim {
namespace {

// --axes, --groups, --shift, --pairs, --root: who takes part.
void SetParties(const CliOptions& options, const Topology& topology,
                Collective& collective) {
  if (!options.axes.empty() && !options.groups.empty()) {
    throw InputError("--groups", "--axes says the groups already; leave one");
  }
  if (!options.shift.empty() && !options.pairs.empty()) {
    throw InputError("--pairs", "--shift says the pairs already; leave one");
  }
  if (!options.axes.empty()) {
    RejectAxesOfPermute(collective, "--axes");
    collective.axes = ParseAxes(options.axes, topology, "--axes");
  }
  if (!options.groups.empty()) {
    ReadGroups(JsonValue::ReadFile(options.groups), topology, collective);
  }
  if (!options.shift.empty()) {
    collective.shift = ParseShift(options.shift, topology, "--shift");
  }
  if (!options.pairs.empty()) {
    ReadPairs(JsonValue::ReadFile(options.pairs), topology, collective);
  }
  RequirePairs(collective, "--shift");
  if (!options.root.empty()) {
    SetRoot(ParseCount(options.root, 0, topology.chips() - 1, "--root"),
            topology, "--root", collective);
  }
}

// --bytes, --matrix, --distribution: how much is sent.
void RequireSize(const CliOptions& options, CollectiveKind kind) {
  const bool ragged = kind == CollectiveKind::kRaggedAllToAll;
  if (!options.matrix.empty()) {
    RejectMatrix(kind, "--matrix");
    if (!options.distribution.empty()) {
      throw InputError("--distribution", "--matrix says it already; leave one");
    }
    if (!options.bytes.empty()) {
      throw InputError("--bytes", "--matrix says the bytes already; leave one");
    }
    return;
  }
  if (!options.distribution.empty()) RejectMatrix(kind, "--distribution");
  if (ragged && (options.distribution.empty() || options.bytes.empty())) {
    throw InputError("--matrix",
                     "a ragged-all-to-all needs to know what each rank sends "
                     "to each: --matrix FILE, or --bytes with --distribution");
  }
}

}  // namespace

std::vector<Collective> CollectivesOf(const CliOptions& options,
                                      const Slice& slice) {
  const Topology& topology = slice.topology;
  Collective collective{.kind = ParseCollectiveKind(options.kind, "KIND"),
                        .payload = {},
                        .axes = AllAxes(topology)};
  RequireSize(options, collective.kind);
  SetParties(options, topology, collective);
  RequireDcn(collective, topology, "--slice");
  std::vector<Collective> collectives;
  if (!options.matrix.empty()) {
    SetMatrix(ReadMatrix(JsonValue::ReadFile(options.matrix)), topology,
              options.matrix, collective);
    RequireCountable(collective, topology, options.matrix);
    return {collective};
  }
  for (const Bytes payload : ParseByteList(options.bytes, "--bytes")) {
    collective.payload = payload;
    if (!options.distribution.empty()) {
      const int n = RanksOfMatrix(collective, topology, "--distribution");
      SetMatrix(
          MakeMatrix(ParseDistribution(options.distribution, "--distribution"),
                     n, payload),
          topology, "--distribution", collective);
    }
    RequireCountable(collective, topology, "--bytes");
    collectives.push_back(collective);
  }
  return collectives;
}

}  // namespace podsim
