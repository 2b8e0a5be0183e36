#include "base/units.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/ids.h"

namespace podsim {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Divisible = requires(A a, B b) {
  a / b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

static_assert(Addable<Bytes, Bytes> && Addable<Seconds, Seconds>);
static_assert(!Addable<Bytes, Seconds> && !Addable<Seconds, double>);
static_assert(!Addable<BytesPerSecond, FlopsPerSecond>);
static_assert(Divisible<Bytes, BytesPerSecond>);
static_assert(!Divisible<Bytes, FlopsPerSecond>);
static_assert(!Divisible<Flops, BytesPerSecond>);
static_assert(Comparable<Bytes, Bytes> && !Comparable<Bytes, Seconds>);
static_assert(Comparable<ChipId, ChipId> && !Comparable<ChipId, LinkId>);

TEST_CASE("size / bandwidth = time and work / rate = time", "[base]") {
  CHECK((Bytes(3'000'000) / BytesPerSecond(1e9)).value() == Approx(3e6 / 1e9));
  CHECK((Flops(8e12) / FlopsPerSecond(4e14)).value() == Approx(8e12 / 4e14));
}

TEST_CASE("size / time = bandwidth, the inverse of size / bandwidth",
          "[base]") {
  const Bytes size(1 << 20);
  const BytesPerSecond rate(45e9);
  CHECK((size / (size / rate)).value() == Approx(rate.value()));
}

TEST_CASE("equal units add, subtract and scale", "[base]") {
  CHECK(Seconds(1.5) + Seconds(0.25) == Seconds(1.75));
  CHECK(Seconds(1.5) - Seconds(0.25) == Seconds(1.25));
  CHECK(2 * Seconds(1.5) == Seconds(3));
  CHECK(Seconds(3) / Seconds(1.5) == 2.0);
  CHECK(Bytes(5) + Bytes(2) == Bytes(7));
  CHECK(3 * Bytes(5) == Bytes(15));
  CHECK(0.5 * BytesPerSecond(90e9) == BytesPerSecond(45e9));

  Seconds time(1);
  time += Seconds(2);
  CHECK(time == Seconds(3));
  Bytes size(1);
  size += Bytes(2);
  CHECK(size == Bytes(3));
}

TEST_CASE("a bad subtraction of sizes is negative, not huge", "[base]") {
  CHECK(Bytes(2) - Bytes(5) == Bytes(-3));
  CHECK(Bytes(2) - Bytes(5) < Bytes());
}

TEST_CASE("quantities and ids start at zero and are ordered", "[base]") {
  CHECK(Seconds().value() == 0);
  CHECK(Bytes().value() == 0);
  CHECK(Seconds(1) < Seconds(2));
  CHECK(BytesPerSecond(2) > BytesPerSecond(1));
  CHECK(ChipId() == ChipId(0));
  CHECK(ChipId(1) < ChipId(2));
}

TEST_CASE("an input error puts the place before the message", "[base]") {
  CHECK(std::string(InputError("f.json: /a", "bad").what()) ==
        "f.json: /a: bad");
  CHECK(std::string(InputError("", "bad").what()) == "bad");
}

}  // namespace
}  // namespace podsim
