#ifndef PODSIM_BASE_PARSE_UNITS_H_
#define PODSIM_BASE_PARSE_UNITS_H_

#include <string>
#include <string_view>

#include "base/units.h"

namespace podsim {

// Text to quantity: a JSON number and a unit, spaces between them allowed
// ("64MiB", "90GB/s", "1us", "8TFLOP"). kB, MB, GB, TB are powers of 1000, KiB
// to TiB of 1024; bits are spelled ("400Gbit/s"). Negative values, missing or
// ambiguous units, fractions of a byte and overflow throw InputError at
// `where`.
Bytes ParseBytes(std::string_view text, const std::string& where);
Seconds ParseDuration(std::string_view text, const std::string& where);
BytesPerSecond ParseBandwidth(std::string_view text, const std::string& where);
Flops ParseFlops(std::string_view text, const std::string& where);
FlopsPerSecond ParseFlopRate(std::string_view text, const std::string& where);
// "50%" -> 0.5.
double ParsePercent(std::string_view text, const std::string& where);
// A whole number without unit, min <= value <= max.
int ParseCount(std::string_view text, int min, int max,
               const std::string& where);

// Shortest exact text with a unit: "64MiB", "1000003B".
std::string ToText(Bytes size);
// Four significant digits and a fitting unit: "15.68ms", "0s".
std::string ToText(Seconds time);
std::string ToText(BytesPerSecond rate);
std::string ToText(FlopsPerSecond rate);

}  // namespace podsim

#endif  // PODSIM_BASE_PARSE_UNITS_H_
