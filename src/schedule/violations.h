#ifndef PODSIM_SCHEDULE_VIOLATIONS_H_
#define PODSIM_SCHEDULE_VIOLATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace podsim {

// What a verifier found wrong, each naming the op, or chip and chunk where only
// the final state is wrong. Texts beyond the first kKept are only counted.
class Violations {
 public:
  static constexpr std::size_t kKept = 1000;

  void Add(std::string text) {
    if (texts_.size() < kKept) texts_.push_back(std::move(text));
    ++count_;
  }
  void Append(const Violations& other) {
    Append(other, [](const std::string& text) { return text; });
  }
  // `reword` makes the text that is kept.
  template <class Reword>
  void Append(const Violations& other, Reword reword) {
    for (const std::string& text : other.texts_) {
      if (texts_.size() < kKept) texts_.push_back(reword(text));
    }
    count_ += other.count_;
  }
  bool empty() const { return count_ == 0; }
  std::uint64_t count() const { return count_; }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::uint64_t count_ = 0;
};

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_VIOLATIONS_H_
