#ifndef PODSIM_COLLECTIVE_LIST_SCHEDULE_H_
#define PODSIM_COLLECTIVE_LIST_SCHEDULE_H_

#include <cstdint>
#include <vector>

namespace podsim {

// Operations of one round each, every one on a link that takes one per round.
struct RoundOps {
  std::vector<std::uint32_t> link;  // by op
  std::vector<std::int64_t> key;    // by op; the least goes first
  // What each waits for: of op i before[first[i]] .. before[first[i+1]-1].
  std::vector<std::uint32_t> first = {0};
  std::vector<std::uint32_t> before = {};
  std::uint32_t links = 0;  // ids are below
};

struct Rounds {
  std::vector<std::uint32_t> start;  // by op
  std::uint32_t count = 0;           // the last start + 1
};

// List scheduling: in every round each link takes, among its ops whose
// predecessors all started at least lat + 1 rounds ago, the one with the least
// (key, op). Then `passes` more, in turn on the reversed graph, latest first,
// and forward again, in the order of the pass before: the end of a schedule is
// as ragged as its beginning is tight, until it is packed from the end. The
// pass with the fewest rounds, the first of them.
Rounds ListSchedule(const RoundOps& ops, int lat, int passes);

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_LIST_SCHEDULE_H_
