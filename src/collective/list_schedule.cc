#include "collective/list_schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <span>
#include <utility>

#include "base/check.h"

namespace podsim {
namespace {

// Edges between ops, by their tail.
struct Edges {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> heads;

  std::span<const std::uint32_t> From(std::uint32_t op) const {
    return {heads.data() + first[op], heads.data() + first[op + 1]};
  }
};

Edges Reversed(const Edges& edges) {
  const auto ops = static_cast<std::uint32_t>(edges.first.size() - 1);
  Edges reversed{.first = std::vector<std::uint32_t>(ops + 1),
                 .heads = std::vector<std::uint32_t>(edges.heads.size())};
  for (const std::uint32_t head : edges.heads) ++reversed.first[head + 1];
  for (std::uint32_t op = 0; op < ops; ++op) {
    reversed.first[op + 1] += reversed.first[op];
  }
  std::vector<std::uint32_t> next(reversed.first.begin(),
                                  reversed.first.end() - 1);
  for (std::uint32_t op = 0; op < ops; ++op) {
    for (const std::uint32_t head : edges.From(op)) {
      reversed.heads[next[head]++] = op;
    }
  }
  return reversed;
}

using Entry = std::pair<std::int64_t, std::uint32_t>;  // key, op
using Queue =
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>>;

// One pass: an op waits for those that lead to it.
Rounds OnePass(const std::vector<std::uint32_t>& link, std::uint32_t links,
               const std::vector<std::int64_t>& key, const Edges& before,
               const Edges& after, int lat) {
  const auto ops = static_cast<std::uint32_t>(link.size());
  Rounds rounds{.start = std::vector<std::uint32_t>(ops)};
  std::vector<std::uint32_t> waits(ops);
  // Ops that become ready, by round modulo the longest wait.
  const std::size_t horizon = static_cast<std::size_t>(lat) + 2;
  std::vector<std::vector<std::uint32_t>> ready(horizon);
  std::vector<Queue> queues(links);
  for (std::uint32_t op = 0; op < ops; ++op) {
    waits[op] = static_cast<std::uint32_t>(before.From(op).size());
    if (waits[op] == 0) ready[0].push_back(op);
  }
  std::uint32_t left = ops;
  for (std::uint32_t round = 0; left > 0; ++round) {
    auto& now = ready[round % horizon];
    for (const std::uint32_t op : now) queues[link[op]].push({key[op], op});
    now.clear();
    auto& later = ready[(round + horizon - 1) % horizon];
    for (Queue& queue : queues) {
      if (queue.empty()) continue;
      const std::uint32_t op = queue.top().second;
      queue.pop();
      --left;
      rounds.start[op] = round;
      rounds.count = round + 1;
      for (const std::uint32_t next : after.From(op)) {
        if (--waits[next] == 0) later.push_back(next);
      }
    }
    CHECK(round < (std::uint64_t{ops} + 1) * horizon) << "ops in a circle";
  }
  return rounds;
}

}  // namespace

Rounds ListSchedule(const RoundOps& ops, int lat, int passes) {
  const Edges before{.first = ops.first, .heads = ops.before};
  const Edges after = Reversed(before);
  Rounds last = OnePass(ops.link, ops.links, ops.key, before, after, lat);
  Rounds best = last;
  for (int pass = 1; pass <= passes; ++pass) {
    std::vector<std::int64_t> key(last.start.begin(), last.start.end());
    if (pass % 2 == 1) {
      for (std::int64_t& start : key) start = -start;
      last = OnePass(ops.link, ops.links, key, after, before, lat);
      for (std::uint32_t& start : last.start) start = last.count - 1 - start;
    } else {
      last = OnePass(ops.link, ops.links, key, before, after, lat);
    }
    if (last.count < best.count) best = last;
  }
  return best;
}

}  // namespace podsim
