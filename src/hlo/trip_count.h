#ifndef PODSIM_HLO_TRIP_COUNT_H_
#define PODSIM_HLO_TRIP_COUNT_H_

#include <cstdint>
#include <string>

#include "hlo/module.h"

namespace podsim {

enum class TripCountSource : std::uint8_t {
  kKnown,    // known_trip_count in backend_config
  kDerived,  // from condition, start value and step
  kUnknown,
};
const char* ToText(TripCountSource source);  // "known_trip_count", "derived"

struct TripCount {
  TripCountSource source = TripCountSource::kUnknown;
  std::int64_t count = 0;  // 0 if unknown
  std::string reason;      // why unknown: "the condition is not a compare"
};

// How often the body of a `while` of `computation` runs. Derives it when the
// condition compares an element of the loop's tuple with a constant (or with an
// element that the loop does not change), the element starts at a constant, and
// the body adds a constant to it; through copies, conversions and fusions.
// `instruction` is an index in module.computations[computation].
TripCount FindTripCount(const HloModule& module, int computation,
                        int instruction);

}  // namespace podsim

#endif  // PODSIM_HLO_TRIP_COUNT_H_
