#ifndef PODSIM_ENGINE_GOAL_MAILBOX_H_
#define PODSIM_ENGINE_GOAL_MAILBOX_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/loggops.h"

namespace podsim {

// Of one rank: posted recvs that no message fits yet, and messages that no recv
// fits yet. Of several that fit the oldest is taken.
class GoalMailbox {
 public:
  // -1 stands for any.
  void Post(std::int32_t src, std::int64_t tag, GoalOpId receive);
  void Keep(std::int32_t src, std::int64_t tag, GoalOpId send);
  std::optional<GoalOpId> TakeReceive(std::int32_t src, std::int64_t tag);
  std::optional<GoalOpId> TakeMessage(std::int32_t src, std::int64_t tag);
  std::vector<GoalOpId> kept() const;

 private:
  using Key = std::pair<std::int32_t, std::int64_t>;  // source and tag
  struct Entry {
    std::uint64_t number;  // in the order in which they came
    GoalOpId op;
  };
  using Queues = std::map<Key, std::deque<Entry>>;
  static std::optional<GoalOpId> TakeFirst(Queues& queues, Queues::iterator at);

  Queues receives_, messages_;
  std::uint64_t next_number_ = 0;
};

}  // namespace podsim

#endif  // PODSIM_ENGINE_GOAL_MAILBOX_H_
