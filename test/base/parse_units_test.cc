#include "base/parse_units.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "base/error.h"

namespace podsim {
namespace {

constexpr std::int64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();

template <class Parse>
std::string ErrorOf(Parse parse, const std::string& text) {
  try {
    parse(text, "");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

struct BadInput {
  std::string text;
  std::string message;
};

template <class Parse>
void CheckErrors(Parse parse, const std::vector<BadInput>& inputs) {
  for (const BadInput& input : inputs) {
    CHECK(ErrorOf(parse, input.text) == input.message);
  }
}

const std::string kKnownSizes =
    " (known: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)";
const std::string kKnownDurations = " (known: s, ms, us, ns, ps)";
const std::string kKnownRates =
    " (known: B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s, bit/s, "
    "kbit/s, Mbit/s, Gbit/s, Tbit/s)";
const std::string kKnownFlops =
    " (known: FLOP, kFLOP, MFLOP, GFLOP, TFLOP, PFLOP)";
const std::string kKnownFlopRates =
    " (known: FLOP/s, kFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s)";

TEST_CASE("a size is number times unit, kB.. powers of 1000, KiB.. of 1024",
          "[base]") {
  struct Row {
    std::string unit;
    std::int64_t factor;
  };
  const Row row =
      GENERATE(Row{"B", 1}, Row{"kB", 1000}, Row{"MB", 1000'000},
               Row{"GB", 1000'000'000}, Row{"TB", 1000'000'000'000},
               Row{"KiB", 1 << 10}, Row{"MiB", 1 << 20}, Row{"GiB", 1 << 30},
               Row{"TiB", std::int64_t{1} << 40});
  const std::int64_t number = GENERATE(0, 1, 3, 64, 999, 1'000'003);
  CAPTURE(row.unit, number);
  const std::string text = std::to_string(number) + row.unit;
  CHECK(ParseBytes(text, "").value() == number * row.factor);
}

TEST_CASE("fractions and exponents of a size are exact", "[base]") {
  CHECK(ParseBytes("0.1MB", "") == Bytes(100'000));
  CHECK(ParseBytes("1.5KiB", "") == Bytes(1536));
  CHECK(ParseBytes("1e3B", "") == Bytes(1000));
  CHECK(ParseBytes("1.50E+1kB", "") == Bytes(15'000));
  CHECK(ParseBytes("25e-1kB", "") == Bytes(2500));
  CHECK(ParseBytes("64  MiB", "") == Bytes(64 << 20));
  CHECK(ParseBytes("0e-9B", "") == Bytes(0));
  CHECK(ParseBytes("-0B", "") == Bytes(0));
  // 2^-40 TiB has 40 decimals.
  CHECK(ParseBytes("9.094947017729282379150390625e-13TiB", "") == Bytes(1));
  // (2^23 - 2^-40) TiB = 2^63 - 1 B: all 47 digits count.
  CHECK(ParseBytes("8388607.9999999999990905052982270717620849609375TiB", "") ==
        Bytes(kMaxBytes));
  CHECK(ParseBytes("9223372036854775807B", "") == Bytes(kMaxBytes));
}

TEST_CASE("bad sizes say what to write", "[base]") {
  CheckErrors(
      ParseBytes,
      {
          {"64", R"("64" has no unit; write for example "64MiB")"},
          {"7 ", R"("7 " has no unit; write for example "7MiB")"},
          {"", R"("" is not a number with a unit; write for example "64MiB")"},
          {"MiB",
           R"("MiB" is not a number with a unit; write for example "64MiB")"},
          {" 64MiB",
           R"(" 64MiB" is not a number with a unit; write for example "64MiB")"},
          {".5kB",
           R"(".5kB" is not a number with a unit; write for example "64MiB")"},
          {"1.kB",
           R"("1.kB" is not a number with a unit; write for example "64MiB")"},
          {"05B",
           R"("05B" is not a number with a unit; write for example "64MiB")"},
          {"+5B",
           R"("+5B" is not a number with a unit; write for example "64MiB")"},
          {"-",
           R"("-" is not a number with a unit; write for example "64MiB")"},
          {"NaNB",
           R"("NaNB" is not a number with a unit; write for example "64MiB")"},
          {"-1MiB", R"("-1MiB" must not be negative)"},
          {"0.5B", R"("0.5B" is not a whole number of bytes)"},
          {"1e-3kB", "no error"},
          {"1e-4kB", R"("1e-4kB" is not a whole number of bytes)"},
          {"1e-1000000000000000000000B",
           R"("1e-1000000000000000000000B" is not a whole number of bytes)"},
          {"9223372036854775808B",
           R"("9223372036854775808B" is too large; at most 9223372036854775807B)"},
          {"8388608TiB",
           R"("8388608TiB" is too large; at most 9223372036854775807B)"},
          {"1e1000000000000000000000B",
           R"("1e1000000000000000000000B" is too large; at most 9223372036854775807B)"},
          {"64KB", R"("64KB" is ambiguous; write "64kB" or "64KiB")"},
          {"64Kb", R"("64Kb" is ambiguous; write "64kB" or "64KiB")"},
          {"64Gb", R"("64Gb" is ambiguous; write "64GB" or "64GiB")"},
          {"64 mb", R"("64 mb" is ambiguous; write "64MB" or "64MiB")"},
          {"64M", R"("64M" is ambiguous; write "64MB" or "64MiB")"},
          {"64mib",
           R"("64mib" has the unknown unit "mib"; did you mean "64MiB"?)" +
               kKnownSizes},
          {"64b", R"("64b" has the unknown unit "b"; did you mean "64B"?)" +
                      kKnownSizes},
          {"64MiB ",
           R"("64MiB " has the unknown unit "MiB "; did you mean "64MiB"?)" +
               kKnownSizes},
          {"64GB/s",
           R"("64GB/s" has the unknown unit "GB/s"; did you mean "64GB"?)" +
               kKnownSizes},
          // No suggestion turns bits into bytes or drops a prefix.
          {"64Gbit", R"("64Gbit" has the unknown unit "Gbit")" + kKnownSizes},
          {"1PB", R"("1PB" has the unknown unit "PB")" + kKnownSizes},
          {"1e", R"("1e" has the unknown unit "e")" + kKnownSizes},
          {"64parsec",
           R"("64parsec" has the unknown unit "parsec")" + kKnownSizes},
          {"64\x1B[31m",
           R"("64?[31m" has the unknown unit "?[31m")" + kKnownSizes},
      });
}

TEST_CASE("an error stands at the place it is given", "[base]") {
  CHECK_THROWS_WITH(ParseBytes("64", "--bytes"),
                    R"(--bytes: "64" has no unit; write for example "64MiB")");
}

TEST_CASE("an error quotes at most 60 characters", "[base]") {
  const std::string ones(1'000'000, '1');
  CHECK(ErrorOf(ParseBytes, ones + "B") ==
        '"' + ones.substr(0, 57) +
            "...\" is too large; at most 9223372036854775807B");
}

TEST_CASE("a duration is the double nearest to its decimal value",
          "[base][property]") {
  const std::string number =
      GENERATE("0.25", "1", "3.3", "0.1", "7e3", "123.456789012345678901234567",
               "1e-300", "2.2250738585072011", "9007199254740993");
  CAPTURE(number);
  // The shifted exponent is appended if there is none yet.
  const auto nearest = [&number](int exp10) {
    const std::size_t e = number.find('e');
    const int own =
        e == std::string::npos ? 0 : std::stoi(number.substr(e + 1));
    const std::string shifted =
        number.substr(0, e) + "e" + std::to_string(own + exp10);
    return std::strtod(shifted.c_str(), nullptr);
  };
  CHECK(ParseDuration(number + "s", "").value() == nearest(0));
  CHECK(ParseDuration(number + "ms", "").value() == nearest(-3));
  CHECK(ParseDuration(number + "us", "").value() == nearest(-6));
  CHECK(ParseDuration(number + "ns", "").value() == nearest(-9));
  CHECK(ParseDuration(number + " ps", "").value() == nearest(-12));
}

TEST_CASE("quantities equal their C++ literals", "[base]") {
  CHECK(ParseDuration("0.25us", "").value() == 2.5e-7);
  CHECK(ParseDuration("0s", "").value() == 0);
  CHECK_FALSE(std::signbit(ParseDuration("-0s", "").value()));
  CHECK(ParseDuration("5e-324s", "").value() == 5e-324);
  CHECK(ParseDuration("1.7976931348623157e311ms", "").value() ==
        std::numeric_limits<double>::max());
  CHECK(ParseFlops("8TFLOP", "").value() == 8e12);
  CHECK(ParseFlops("0FLOP", "").value() == 0);
  CHECK(ParseFlops("0.3PFLOP", "").value() == 0.3e15);
  CHECK(ParseFlopRate("459TFLOP/s", "").value() == 459e12);
  CHECK(ParseFlopRate("0FLOP/s", "").value() == 0);
  CHECK(ParsePercent("50%", "") == 0.5);
  CHECK(ParsePercent("0.1 %", "") == 0.001);
  CHECK(ParsePercent("0%", "") == 0);
}

TEST_CASE("a bandwidth counts bytes, 8 bits each", "[base]") {
  CHECK(ParseBandwidth("90GB/s", "").value() == 90e9);
  CHECK(ParseBandwidth("1.5GiB/s", "").value() == 1.5 * (1 << 30));
  CHECK(ParseBandwidth("400Gbit/s", "").value() == 400e9 / 8);
  CHECK(ParseBandwidth("1bit/s", "").value() == 1.0 / 8);
  CHECK(ParseBandwidth("0.3Tbit/s", "").value() == 0.3e12 / 8);
}

TEST_CASE("bad durations say what to write", "[base]") {
  CheckErrors(
      ParseDuration,
      {
          {"0", R"("0" has no unit; write for example "0us")"},
          {"1.5e", R"("1.5e" has the unknown unit "e")" + kKnownDurations},
          {"-1us", R"("-1us" must not be negative)"},
          {"1e309s", R"("1e309s" is too large)"},
          {"1e99999999999999999999s",
           R"("1e99999999999999999999s" is too large)"},
          {"1e-400s", R"("1e-400s" is too small)"},
          {"Infinitys",
           R"("Infinitys" is not a number with a unit; write for example "1us")"},
          {"1US", R"("1US" has the unknown unit "US"; did you mean "1us"?)" +
                      kKnownDurations},
          {"1usec",
           R"("1usec" has the unknown unit "usec"; did you mean "1us"?)" +
               kKnownDurations},
          {"5min", R"("5min" has the unknown unit "min")" + kKnownDurations},
      });
}

TEST_CASE("bad bandwidths say what to write", "[base]") {
  CheckErrors(
      ParseBandwidth,
      {
          {"90Gbps", R"("90Gbps" is ambiguous; write "90GB/s" or "90Gbit/s")"},
          {"90gbps", R"("90gbps" is ambiguous; write "90GB/s" or "90Gbit/s")"},
          {"90Gb/s", R"("90Gb/s" is ambiguous; write "90GB/s" or "90Gbit/s")"},
          {"90GBps", R"("90GBps" is ambiguous; write "90GB/s" or "90Gbit/s")"},
          {"90 Mbps",
           R"("90 Mbps" is ambiguous; write "90MB/s" or "90Mbit/s")"},
          {"90Kbps", R"("90Kbps" is ambiguous; write "90kB/s" or "90kbit/s")"},
          {"90KB/s", R"("90KB/s" is ambiguous; write "90kB/s" or "90KiB/s")"},
          {"90", R"("90" has no unit; write for example "90GB/s")"},
          {"0GB/s", R"("0GB/s" must be greater than zero)"},
          {"-90GB/s", R"("-90GB/s" must not be negative)"},
          {"1e-400B/s", R"("1e-400B/s" is too small)"},
          {"1e308TiB/s", R"("1e308TiB/s" is too large)"},
          {"90GB",
           R"("90GB" has the unknown unit "GB"; did you mean "90GB/s"?)" +
               kKnownRates},
          {"90GiBps",
           R"("90GiBps" has the unknown unit "GiBps"; did you mean "90GiB/s"?)" +
               kKnownRates},
          {"90gbit/s",
           R"("90gbit/s" has the unknown unit "gbit/s"; did you mean "90Gbit/s"?)" +
               kKnownRates},
          {"9Pbit/s",
           R"("9Pbit/s" has the unknown unit "Pbit/s")" + kKnownRates},
      });
}

TEST_CASE("bad operation counts, rates and percentages say what to write",
          "[base]") {
  CheckErrors(
      ParseFlops,
      {
          {"8", R"("8" has no unit; write for example "8TFLOP")"},
          {"-8TFLOP", R"("-8TFLOP" must not be negative)"},
          {"8TFLOPS",
           R"("8TFLOPS" has the unknown unit "TFLOPS"; did you mean "8TFLOP"?)" +
               kKnownFlops},
          {"8EFLOP", R"("8EFLOP" has the unknown unit "EFLOP")" + kKnownFlops},
      });
  CheckErrors(
      ParseFlopRate,
      {
          {"459", R"("459" has no unit; write for example "459TFLOP/s")"},
          {"459TFLOP",
           R"("459TFLOP" has the unknown unit "TFLOP"; did you mean "459TFLOP/s"?)" +
               kKnownFlopRates},
          {"459TFLOPS",
           R"("459TFLOPS" has the unknown unit "TFLOPS"; did you mean "459TFLOP/s"?)" +
               kKnownFlopRates},
      });
  CheckErrors(
      ParsePercent,
      {
          {"50", R"("50" has no unit; write for example "50%")"},
          {"-5%", R"("-5%" must not be negative)"},
          {"5pct", R"("5pct" has the unknown unit "pct" (known: %))"},
          {"half",
           R"("half" is not a number with a unit; write for example "50%")"},
      });
}

TEST_CASE("a count is a whole number in its range", "[base]") {
  CHECK(ParseCount("1", 1, 16, "") == 1);
  CHECK(ParseCount("16", 1, 16, "") == 16);
  CHECK(ParseCount("-3", -3, 0, "") == -3);
  const std::string text =
      GENERATE("0", "17", "-1", "1.0", "1e1", "05", "+5", "5 ", " 5", "five",
               "", "-", "5B", "99999999999999999999", "4294967297");
  CHECK_THROWS_WITH(
      ParseCount(text, 1, 16, "--fold"),
      "--fold: expected an integer from 1 to 16, got \"" + text + "\"");
}

TEST_CASE("a size is written with the unit that makes it shortest", "[base]") {
  CHECK(ToText(Bytes(0)) == "0B");
  CHECK(ToText(Bytes(64 << 20)) == "64MiB");
  CHECK(ToText(Bytes(1024)) == "1KiB");
  CHECK(ToText(Bytes(std::int64_t{3} << 40)) == "3TiB");
  CHECK(ToText(Bytes(606'000'000)) == "606MB");
  // 512MB is 500000KiB, but nobody would say so.
  CHECK(ToText(Bytes(512'000'000)) == "512MB");
  CHECK(ToText(Bytes(1'000'000'000'000)) == "1TB");
  CHECK(ToText(Bytes(1536)) == "1536B");
  // As short as 100352kB: binary wins.
  CHECK(ToText(Bytes(98'000 << 10)) == "98000KiB");
  CHECK(ToText(Bytes(1'000'003)) == "1000003B");
  CHECK(ToText(Bytes(kMaxBytes)) == "9223372036854775807B");
  CHECK(ToText(Bytes(-(64 << 20))) == "-64MiB");
  CHECK(ToText(Bytes(std::numeric_limits<std::int64_t>::min())) ==
        "-8388608TiB");
}

TEST_CASE("the text of a size reads back as the same size",
          "[base][property]") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    // All magnitudes, and with many zeros at the end of either base.
    std::int64_t value = static_cast<std::int64_t>(random() >> 1) >> (i % 63);
    if (i % 3 == 1) value -= value % 1'000'000;
    if (i % 3 == 2) value -= value % (1 << 20);
    CHECK(ParseBytes(ToText(Bytes(value)), "") == Bytes(value));
  }
}

TEST_CASE("a time has four significant digits and a unit of at most its size",
          "[base]") {
  CHECK(ToText(Seconds(0)) == "0s");
  CHECK(ToText(Seconds(0.0156789)) == "15.68ms");
  CHECK(ToText(Seconds(1e-6)) == "1us");
  CHECK(ToText(Seconds(2.5e-7)) == "250ns");
  CHECK(ToText(Seconds(3.3e-12)) == "3.3ps");
  CHECK(ToText(Seconds(1e-15)) == "0.001ps");
  CHECK(ToText(Seconds(61.5)) == "61.5s");
  CHECK(ToText(Seconds(12345.6)) == "12350s");
  CHECK(ToText(Seconds(1e20)) == "1e+20s");
  CHECK(ToText(Seconds(-0.5)) == "-500ms");
}

TEST_CASE("a time that rounds up to the next unit is written in it", "[base]") {
  CHECK(ToText(Seconds(999.94e-6)) == "999.9us");
  CHECK(ToText(Seconds(999.96e-6)) == "1ms");
  CHECK(ToText(Seconds(999.96)) == "1000s");
}

TEST_CASE("a rate has up to six significant digits", "[base]") {
  CHECK(ToText(BytesPerSecond(90e9)) == "90GB/s");
  CHECK(ToText(BytesPerSecond(1.2288e12)) == "1.2288TB/s");
  CHECK(ToText(BytesPerSecond(123456789)) == "123.457MB/s");
  CHECK(ToText(BytesPerSecond(999'999.6)) == "1MB/s");
  CHECK(ToText(BytesPerSecond(2e15)) == "2000TB/s");
  CHECK(ToText(BytesPerSecond(0.125)) == "0.125B/s");
  CHECK(ToText(BytesPerSecond(0)) == "0B/s");
  CHECK(ToText(FlopsPerSecond(459e12)) == "459TFLOP/s");
  CHECK(ToText(FlopsPerSecond(8960 * 459e12)) == "4112.64PFLOP/s");
}

TEST_CASE("a time or rate that is not finite still has a text", "[base]") {
  CHECK(ToText(Seconds(INFINITY)) == "infs");
  CHECK(ToText(BytesPerSecond(INFINITY)) == "infB/s");
}

}  // namespace
}  // namespace podsim
