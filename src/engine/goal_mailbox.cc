#include "engine/goal_mailbox.h"

namespace podsim {

void GoalMailbox::Post(std::int32_t src, std::int64_t tag, GoalOpId receive) {
  receives_[{src, tag}].push_back({next_number_++, receive});
}

void GoalMailbox::Keep(std::int32_t src, std::int64_t tag, GoalOpId send) {
  messages_[{src, tag}].push_back({next_number_++, send});
}

std::optional<GoalOpId> GoalMailbox::TakeFirst(Queues& queues,
                                               Queues::iterator at) {
  if (at == queues.end()) return std::nullopt;
  const GoalOpId taken = at->second.front().op;
  at->second.pop_front();
  if (at->second.empty()) queues.erase(at);
  return taken;
}

std::optional<GoalOpId> GoalMailbox::TakeReceive(std::int32_t src,
                                                 std::int64_t tag) {
  auto oldest = receives_.end();
  for (const Key& key :
       {Key{src, tag}, Key{src, kAnyGoalTag}, Key{kAnyGoalRank, tag},
        Key{kAnyGoalRank, kAnyGoalTag}}) {
    const auto found = receives_.find(key);
    if (found == receives_.end()) continue;
    if (oldest == receives_.end() ||
        found->second.front().number < oldest->second.front().number) {
      oldest = found;
    }
  }
  return TakeFirst(receives_, oldest);
}

std::optional<GoalOpId> GoalMailbox::TakeMessage(std::int32_t src,
                                                 std::int64_t tag) {
  if (src != kAnyGoalRank && tag != kAnyGoalTag) {
    return TakeFirst(messages_, messages_.find({src, tag}));
  }
  auto oldest = messages_.end();
  for (auto at = messages_.begin(); at != messages_.end(); ++at) {
    const bool fits = (src == kAnyGoalRank || src == at->first.first) &&
                      (tag == kAnyGoalTag || tag == at->first.second);
    if (!fits) continue;
    if (oldest == messages_.end() ||
        at->second.front().number < oldest->second.front().number) {
      oldest = at;
    }
  }
  return TakeFirst(messages_, oldest);
}

std::vector<GoalOpId> GoalMailbox::kept() const {
  std::vector<GoalOpId> sends;
  for (const auto& [key, queue] : messages_) {
    for (const Entry& entry : queue) sends.push_back(entry.op);
  }
  return sends;
}

}  // namespace podsim
