#include "base/parse_units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace podsim {
namespace {

// A unit is 10^exp10 * 2^exp2 of the base unit. Exponents and not a factor, so
// that powers of ten are added to the text of the number and nothing is rounded
// twice: "0.25us" is the double nearest to 2.5e-7.
struct Unit {
  std::string_view name;
  int exp10;
  int exp2 = 0;
};

// What follows the prefix in a unit that people read in two ways, and the two
// readings. Only looked up for units that are not known.
struct Ambiguity {
  std::string_view ending;
  std::string_view first;
  std::string_view second;
};

// What a quantity's text may be.
struct Grammar {
  std::span<const Unit> units;
  std::span<const Ambiguity> ambiguities;
  std::string_view example_number;
  std::string_view example_unit;
};

constexpr std::array kSizeUnits = {
    Unit{"B", 0},       Unit{"kB", 3},      Unit{"MB", 6},
    Unit{"GB", 9},      Unit{"TB", 12},     Unit{"KiB", 0, 10},
    Unit{"MiB", 0, 20}, Unit{"GiB", 0, 30}, Unit{"TiB", 0, 40}};
constexpr std::array kSizeAmbiguities = {Ambiguity{"B", "B", "iB"},
                                         Ambiguity{"b", "B", "iB"},
                                         Ambiguity{"", "B", "iB"}};
constexpr Grammar kSize = {kSizeUnits, kSizeAmbiguities, "64", "MiB"};

constexpr std::array kDurationUnits = {Unit{"s", 0}, Unit{"ms", -3},
                                       Unit{"us", -6}, Unit{"ns", -9},
                                       Unit{"ps", -12}};
constexpr Grammar kDuration = {kDurationUnits, {}, "1", "us"};

constexpr std::array kBandwidthUnits = {
    Unit{"B/s", 0},        Unit{"kB/s", 3},       Unit{"MB/s", 6},
    Unit{"GB/s", 9},       Unit{"TB/s", 12},      Unit{"KiB/s", 0, 10},
    Unit{"MiB/s", 0, 20},  Unit{"GiB/s", 0, 30},  Unit{"TiB/s", 0, 40},
    Unit{"bit/s", 0, -3},  Unit{"kbit/s", 3, -3}, Unit{"Mbit/s", 6, -3},
    Unit{"Gbit/s", 9, -3}, Unit{"Tbit/s", 12, -3}};
constexpr std::array kBandwidthAmbiguities = {
    Ambiguity{"bps", "B/s", "bit/s"}, Ambiguity{"Bps", "B/s", "bit/s"},
    Ambiguity{"b/s", "B/s", "bit/s"}, Ambiguity{"B/s", "B/s", "iB/s"}};
constexpr Grammar kBandwidth = {kBandwidthUnits, kBandwidthAmbiguities, "90",
                                "GB/s"};

constexpr std::array kFlopUnits = {Unit{"FLOP", 0},   Unit{"kFLOP", 3},
                                   Unit{"MFLOP", 6},  Unit{"GFLOP", 9},
                                   Unit{"TFLOP", 12}, Unit{"PFLOP", 15}};
constexpr Grammar kFlop = {kFlopUnits, {}, "8", "TFLOP"};

constexpr std::array kFlopRateUnits = {
    Unit{"FLOP/s", 0},  Unit{"kFLOP/s", 3},  Unit{"MFLOP/s", 6},
    Unit{"GFLOP/s", 9}, Unit{"TFLOP/s", 12}, Unit{"PFLOP/s", 15}};
constexpr Grammar kFlopRate = {kFlopRateUnits, {}, "459", "TFLOP/s"};

constexpr std::array kPercentUnits = {Unit{"%", -2}};
constexpr Grammar kPercent = {kPercentUnits, {}, "50", "%"};

// digits * 10^exponent. No zeros at either end, so 0 has no digits.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;
};

struct Quantity {
  Decimal number;
  Unit unit;
};

bool IsDigit(char c) { return '0' <= c && c <= '9'; }

std::string Quoted(std::string_view text) {
  std::string quoted = '"' + Shortened(text, 60) + '"';
  for (char& c : quoted) {
    const bool control = (0 <= c && c < ' ') || c == '\x7F';
    if (control) c = '?';
  }
  return quoted;
}

std::string Concat(std::string_view a, std::string_view b) {
  return std::string(a) += b;
}

std::size_t SkipDigits(std::string_view text, std::size_t at) {
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at;
}

std::size_t SkipFraction(std::string_view text, std::size_t at) {
  if (at == text.size() || text[at] != '.') return at;
  const std::size_t end = SkipDigits(text, at + 1);
  return end == at + 1 ? at : end;
}

std::size_t SkipExponent(std::string_view text, std::size_t at) {
  if (at == text.size() || (text[at] != 'e' && text[at] != 'E')) return at;
  std::size_t digits = at + 1;
  if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) {
    ++digits;
  }
  const std::size_t end = SkipDigits(text, digits);
  return end == digits ? at : end;
}

// Of the longest JSON number that `text` starts with; 0 if there is none.
std::size_t NumberLength(std::string_view text) {
  const std::size_t begin = text.starts_with('-') ? 1 : 0;
  const bool zero = text.substr(begin).starts_with('0');
  const std::size_t end = zero ? begin + 1 : SkipDigits(text, begin);
  if (end == begin) return 0;
  return SkipExponent(text, SkipFraction(text, end));
}

std::int64_t ParseExponent(std::string_view text) {
  // Far outside of double, and far from overflow when the length of a text is
  // added.
  constexpr std::int64_t kHuge = 1'000'000'000'000'000;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = kHuge;
  // Leaves the value alone if it does not fit.
  std::from_chars(text.data(), text.data() + text.size(), value);
  value = std::min(value, kHuge);
  return negative ? -value : value;
}

void StripZeros(Decimal& number) {
  const std::size_t kept = number.digits.find_last_not_of('0') + 1;
  number.exponent += static_cast<std::int64_t>(number.digits.size() - kept);
  number.digits.erase(kept);
  number.digits.erase(0, number.digits.find_first_not_of('0'));
  if (number.digits.empty()) number.exponent = 0;
}

// `text` is a JSON number.
Decimal ToDecimal(std::string_view text) {
  Decimal number;
  number.negative = text.starts_with('-');
  if (number.negative) text.remove_prefix(1);
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  if (e < text.size()) number.exponent = ParseExponent(text.substr(e + 1));
  const std::string_view mantissa = text.substr(0, e);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  number.digits = mantissa.substr(0, point);
  if (point < mantissa.size()) {
    const std::string_view fraction = mantissa.substr(point + 1);
    number.digits += fraction;
    number.exponent -= static_cast<std::int64_t>(fraction.size());
  }
  StripZeros(number);
  return number;
}

std::vector<std::string> Names(std::span<const Unit> units) {
  std::vector<std::string> names;
  for (const Unit& unit : units) names.emplace_back(unit.name);
  return names;
}

char Lower(char c) {
  return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

char Upper(char c) {
  return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

bool EqualButForCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

// A suggestion must neither change the prefix nor turn bits into bytes: it may
// well be followed.
bool MaySuggest(std::string_view name, std::string_view unit) {
  constexpr auto kNone = std::string_view::npos;
  const bool same_bits =
      (name.find("bit") == kNone) == (unit.find("bit") == kNone);
  const bool binary = unit.size() > 1 && Lower(unit[1]) == 'i';
  const bool name_binary = name.size() > 1 && name[1] == 'i';
  return same_bits && binary == name_binary && Lower(name[0]) == Lower(unit[0]);
}

// The known unit that was meant, as far as one can tell.
std::optional<std::string> SuggestUnit(std::string_view unit,
                                       std::span<const Unit> units) {
  std::vector<std::string> names = Names(units);
  std::erase_if(names,
                [unit](const auto& name) { return !MaySuggest(name, unit); });
  const auto found = std::ranges::find_if(names, [unit](const auto& name) {
    return EqualButForCase(name, unit) || name == Concat(unit, "/s");
  });
  return found == names.end() ? Similar(unit, names) : *found;
}

// "g" and "iB" -> "GiB". Only the decimal kilo is a small letter.
std::string WithPrefix(char prefix, std::string_view name) {
  const bool decimal_kilo = Lower(prefix) == 'k' && !name.starts_with('i');
  return std::string(1, decimal_kilo ? 'k' : Upper(prefix)) += name;
}

// The two things that an ambiguous unit may mean, joined by "or".
std::optional<std::string> Readings(std::string_view number,
                                    std::string_view unit,
                                    std::span<const Ambiguity> ambiguities) {
  constexpr std::string_view kPrefixes = "KMGT";
  const char prefix = unit[0];
  const auto found =
      std::ranges::find(ambiguities, unit.substr(1), &Ambiguity::ending);
  if (found == ambiguities.end() ||
      kPrefixes.find(Upper(prefix)) == std::string_view::npos) {
    return std::nullopt;
  }
  return Quoted(Concat(number, WithPrefix(prefix, found->first))) + " or " +
         Quoted(Concat(number, WithPrefix(prefix, found->second)));
}

std::string UnknownUnitMessage(std::string_view number, std::string_view unit,
                               const Grammar& grammar) {
  if (const auto readings = Readings(number, unit, grammar.ambiguities)) {
    return "is ambiguous; write " + *readings;
  }
  std::string message = "has the unknown unit " + Quoted(unit);
  if (const auto suggestion = SuggestUnit(unit, grammar.units)) {
    message += "; did you mean " + Quoted(Concat(number, *suggestion)) + "?";
  }
  return message + " (known: " + Join(Names(grammar.units), ", ") + ")";
}

Unit ParseUnit(std::string_view text, std::size_t number_length,
               const Grammar& grammar, const std::string& where) {
  const std::string_view number = text.substr(0, number_length);
  std::string_view name = text.substr(number_length);
  name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
  if (name.empty()) {
    throw InputError(where, Quoted(text) + " has no unit; write for example " +
                                Quoted(Concat(number, grammar.example_unit)));
  }
  const auto found = std::ranges::find(grammar.units, name, &Unit::name);
  if (found != grammar.units.end()) return *found;
  throw InputError(
      where, Quoted(text) + " " + UnknownUnitMessage(number, name, grammar));
}

Quantity ParseQuantity(std::string_view text, const Grammar& grammar,
                       const std::string& where) {
  const std::size_t length = NumberLength(text);
  // "05B", "1.B": a number goes on where a JSON number may not.
  const bool goes_on =
      length < text.size() && (IsDigit(text[length]) || text[length] == '.');
  if (length == 0 || goes_on) {
    throw InputError(where, Quoted(text) +
                                " is not a number with a unit; write for "
                                "example " +
                                Quoted(Concat(grammar.example_number,
                                              grammar.example_unit)));
  }
  const Unit unit = ParseUnit(text, length, grammar, where);
  Decimal number = ToDecimal(text.substr(0, length));
  if (number.negative && !number.digits.empty()) {
    throw InputError(where, Quoted(text) + " must not be negative");
  }
  return {std::move(number), unit};
}

// Of a decimal number that is not zero; infinity or 0 if out of range.
double ToDouble(const std::string& digits, std::int64_t exponent) {
  const std::string text = digits + 'e' + std::to_string(exponent);
  double value = 0;
  const auto result =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc::result_out_of_range) return value;
  const bool large = exponent + static_cast<std::int64_t>(digits.size()) > 0;
  return large ? std::numeric_limits<double>::infinity() : 0;
}

double ParseDouble(std::string_view text, const Grammar& grammar,
                   const std::string& where) {
  const Quantity quantity = ParseQuantity(text, grammar, where);
  const Decimal& number = quantity.number;
  if (number.digits.empty()) return 0;
  const double value =
      std::ldexp(ToDouble(number.digits, number.exponent + quantity.unit.exp10),
                 quantity.unit.exp2);
  if (value == 0 || std::isinf(value)) {
    throw InputError(
        where, Quoted(text) + (value == 0 ? " is too small" : " is too large"));
  }
  return value;
}

std::string Times1024(std::string digits) {
  int carry = 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    carry += 1024 * (digits[i] - '0');
    digits[i] = static_cast<char>('0' + carry % 10);
    carry /= 10;
  }
  return std::to_string(carry) + digits;
}

// A size as a decimal number of bytes, without any rounding.
Decimal InBytes(const Quantity& size) {
  Decimal number = size.number;
  number.exponent += size.unit.exp10;
  for (int exp2 = size.unit.exp2; exp2 > 0; exp2 -= 10) {
    number.digits = Times1024(std::move(number.digits));
  }
  StripZeros(number);
  return number;
}

std::optional<std::int64_t> ParseWhole(std::string_view text) {
  const std::size_t begin = text.starts_with('-') ? 1 : 0;
  const bool leading_zero =
      text.substr(begin).starts_with('0') && text.size() > begin + 1;
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || leading_zero) {
    return std::nullopt;
  }
  return value;
}

// Of a number without fraction; nothing if it is too large.
std::optional<std::int64_t> WholeValue(const Decimal& number) {
  constexpr std::size_t kMaxDigits = 19;  // of 2^63 - 1
  if (number.digits.empty()) return 0;
  const auto zeros = static_cast<std::size_t>(number.exponent);
  if (number.digits.size() + zeros > kMaxDigits) return std::nullopt;
  return ParseWhole(number.digits + std::string(zeros, '0'));
}

std::int64_t BytesIn(const Unit& unit) {
  std::int64_t factor = std::int64_t{1} << unit.exp2;
  for (int i = 0; i < unit.exp10; ++i) factor *= 10;
  return factor;
}

// The largest unit that is at most 10^exponent, else the smallest.
Unit FittingUnit(int exponent, std::span<const Unit> units) {
  Unit best = *std::ranges::min_element(units, {}, &Unit::exp10);
  for (const Unit& unit : units) {
    if (unit.exp10 <= exponent && unit.exp10 > best.exp10) best = unit;
  }
  return best;
}

// Rounds first and picks the unit then, so that 999.96us becomes 1ms, not
// 1000us.
std::string Scaled(double value, int digits, std::span<const Unit> units) {
  constexpr int kLongestFixed = 15;
  if (value == 0 || !std::isfinite(value)) {
    return Concat(Significant(value, digits), FittingUnit(0, units).name);
  }
  std::array<char, 64> buffer;
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    std::chars_format::scientific, digits - 1);
  const std::string rounded(buffer.data(), result.ptr);
  const std::size_t e = rounded.find('e');
  const int exponent = std::stoi(rounded.substr(e + 1));
  const Unit unit = FittingUnit(exponent, units);
  const int shifted = exponent - unit.exp10;
  const double number = ToDouble(rounded.substr(0, e), shifted);
  const bool fixed = digits <= shifted && shifted < kLongestFixed;
  return Concat(fixed ? Fixed(number, 0) : Significant(number, digits),
                unit.name);
}

}  // namespace

Bytes ParseBytes(std::string_view text, const std::string& where) {
  const Decimal size = InBytes(ParseQuantity(text, kSize, where));
  if (size.exponent < 0) {
    throw InputError(where, Quoted(text) + " is not a whole number of bytes");
  }
  const std::optional<std::int64_t> value = WholeValue(size);
  if (!value) {
    constexpr Bytes kMax(std::numeric_limits<std::int64_t>::max());
    throw InputError(where,
                     Quoted(text) + " is too large; at most " + ToText(kMax));
  }
  return Bytes(*value);
}

Seconds ParseDuration(std::string_view text, const std::string& where) {
  return Seconds(ParseDouble(text, kDuration, where));
}

BytesPerSecond ParseBandwidth(std::string_view text, const std::string& where) {
  const double value = ParseDouble(text, kBandwidth, where);
  if (value == 0) {
    throw InputError(where, Quoted(text) + " must be greater than zero");
  }
  return BytesPerSecond(value);
}

Flops ParseFlops(std::string_view text, const std::string& where) {
  return Flops(ParseDouble(text, kFlop, where));
}

FlopsPerSecond ParseFlopRate(std::string_view text, const std::string& where) {
  return FlopsPerSecond(ParseDouble(text, kFlopRate, where));
}

double ParsePercent(std::string_view text, const std::string& where) {
  return ParseDouble(text, kPercent, where);
}

int ParseCount(std::string_view text, int min, int max,
               const std::string& where) {
  const std::optional<std::int64_t> value = ParseWhole(text);
  if (!value || *value < min || *value > max) {
    throw InputError(where, "expected an integer from " + std::to_string(min) +
                                " to " + std::to_string(max) + ", got " +
                                Quoted(text));
  }
  return static_cast<int>(*value);
}

std::string ToText(Bytes size) {
  std::string shortest = std::to_string(size.value()) + "B";
  // Of equally short texts the last is kept: binary, and the largest unit.
  for (const Unit& unit : kSizeUnits) {
    const std::int64_t factor = BytesIn(unit);
    if (size.value() % factor != 0) continue;
    const std::string text =
        Concat(std::to_string(size.value() / factor), unit.name);
    if (text.size() <= shortest.size()) shortest = text;
  }
  return shortest;
}

std::string ToText(Seconds time) {
  return Scaled(time.value(), 4, kDurationUnits);
}

std::string ToText(BytesPerSecond rate) {
  constexpr std::size_t kDecimalUnits = 5;
  return Scaled(rate.value(), 6,
                std::span(kBandwidthUnits).first(kDecimalUnits));
}

std::string ToText(FlopsPerSecond rate) {
  return Scaled(rate.value(), 6, kFlopRateUnits);
}

}  // namespace podsim
