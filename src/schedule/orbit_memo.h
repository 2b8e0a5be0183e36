#ifndef PODSIM_SCHEDULE_ORBIT_MEMO_H_
#define PODSIM_SCHEDULE_ORBIT_MEMO_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace podsim {

// One step seen from a chip that it touches.
enum class Role : std::uint8_t { kSends, kReceives };

// Answers by (two steps, their roles at the chip where they meet, the class of
// that chip): by symmetry nothing else matters.
class OrbitMemo {
 public:
  OrbitMemo(std::uint64_t steps, std::uint64_t classes)
      : steps_(steps), classes_(classes) {
    if (classes == 1 && steps <= 2048) table_.assign(4 * steps * steps, 0);
  }

  template <class Answer>
  bool Get(std::uint32_t first, Role first_role, std::uint32_t second,
           Role second_role, std::uint32_t chip_class, Answer answer) {
    const std::uint64_t key = RowOf(first_role, second, second_role) + first;
    if (!table_.empty()) {
      if (table_[key] == kUnknown) table_[key] = answer() ? kYes : kNo;
      return table_[key] == kYes;
    }
    const auto [entry, fresh] = map_.try_emplace(key * classes_ + chip_class);
    if (fresh) entry->second = answer();
    return entry->second;
  }

  // Which `first` are known to come before: kYes at their index; nullptr if
  // that depends on the class.
  static constexpr std::uint8_t kUnknown = 0, kNo = 1, kYes = 2;
  const std::uint8_t* Row(Role first_role, std::uint32_t second,
                          Role second_role) const {
    return table_.empty() ? nullptr
                          : &table_[RowOf(first_role, second, second_role)];
  }

 private:
  std::uint64_t RowOf(Role first_role, std::uint32_t second,
                      Role second_role) const {
    const std::uint64_t roles = (first_role == Role::kSends ? 0 : 1) +
                                (second_role == Role::kSends ? 0 : 2);
    return (roles * steps_ + second) * steps_;
  }

  std::uint64_t steps_;
  std::uint64_t classes_;
  std::vector<std::uint8_t> table_;  // where there is one class only
  std::unordered_map<std::uint64_t, bool> map_;
};

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_ORBIT_MEMO_H_
