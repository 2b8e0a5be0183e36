#ifndef PODSIM_COLLECTIVE_MEMO_H_
#define PODSIM_COLLECTIVE_MEMO_H_

#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

namespace podsim {

// The values last made for some keys. Constructions that take milliseconds are
// asked for again and again while `auto` compares lowerings of one collective.
template <class Value>
class Memo {
 public:
  explicit Memo(std::size_t most) : most_(most) {}

  template <class Make>
  std::shared_ptr<const Value> At(const std::vector<std::uint32_t>& key,
                                  Make make) {
    for (const auto& [known, value] : entries_) {
      if (known == key) return value;
    }
    entries_.emplace_front(key, std::make_shared<const Value>(make()));
    if (entries_.size() > most_) entries_.pop_back();
    return entries_.front().second;
  }

 private:
  using Entry =
      std::pair<std::vector<std::uint32_t>, std::shared_ptr<const Value>>;
  std::size_t most_;
  std::list<Entry> entries_;
};

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_MEMO_H_
