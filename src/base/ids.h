#ifndef PODSIM_BASE_IDS_H_
#define PODSIM_BASE_IDS_H_

#include <compare>
#include <cstdint>

namespace podsim {

// A 32-bit index that cannot be mixed up with an index of something else.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  explicit constexpr Id(std::uint32_t value) : value_(value) {}
  constexpr std::uint32_t value() const { return value_; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  std::uint32_t value_ = 0;
};

using ChipId = Id<struct ChipTag>;  // x fastest: x + X*(y + Y*(z + Z*slice))
using LinkId = Id<struct LinkTag>;  // one direction of one cable
using OpId = Id<struct OpTag>;      // position in a Schedule
using StepId = Id<struct StepTag>;  // position in a Program
using PatternId = Id<struct PatternTag>;  // a chunk pattern of a Schedule

// Where there is no op.
inline constexpr std::uint32_t kNoOp = UINT32_MAX;

}  // namespace podsim

#endif  // PODSIM_BASE_IDS_H_
