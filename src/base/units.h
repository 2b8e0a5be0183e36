#ifndef PODSIM_BASE_UNITS_H_
#define PODSIM_BASE_UNITS_H_

#include <compare>
#include <cstdint>

namespace podsim {

// One number of one unit each. Only operators that make physical sense exist;
// text with units is read and written by base/parse_units.h.

class Seconds {
 public:
  constexpr Seconds() = default;
  explicit constexpr Seconds(double value) : value_(value) {}
  constexpr double value() const { return value_; }
  constexpr auto operator<=>(const Seconds&) const = default;
  constexpr Seconds& operator+=(Seconds other) {
    value_ += other.value_;
    return *this;
  }

 private:
  double value_ = 0;
};

// Signed, so that a bad subtraction is visible.
class Bytes {
 public:
  constexpr Bytes() = default;
  explicit constexpr Bytes(std::int64_t value) : value_(value) {}
  constexpr std::int64_t value() const { return value_; }
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    value_ += other.value_;
    return *this;
  }

 private:
  std::int64_t value_ = 0;
};

class BytesPerSecond {
 public:
  constexpr BytesPerSecond() = default;
  explicit constexpr BytesPerSecond(double value) : value_(value) {}
  constexpr double value() const { return value_; }
  constexpr auto operator<=>(const BytesPerSecond&) const = default;

 private:
  double value_ = 0;
};

// Floating-point operations, a count.
class Flops {
 public:
  constexpr Flops() = default;
  explicit constexpr Flops(double value) : value_(value) {}
  constexpr double value() const { return value_; }
  constexpr auto operator<=>(const Flops&) const = default;

 private:
  double value_ = 0;
};

class FlopsPerSecond {
 public:
  constexpr FlopsPerSecond() = default;
  explicit constexpr FlopsPerSecond(double value) : value_(value) {}
  constexpr double value() const { return value_; }
  constexpr auto operator<=>(const FlopsPerSecond&) const = default;

 private:
  double value_ = 0;
};

constexpr Seconds operator+(Seconds a, Seconds b) {
  return Seconds(a.value() + b.value());
}
constexpr Seconds operator-(Seconds a, Seconds b) {
  return Seconds(a.value() - b.value());
}
constexpr Seconds operator*(double factor, Seconds a) {
  return Seconds(factor * a.value());
}
constexpr double operator/(Seconds a, Seconds b) {
  return a.value() / b.value();
}
constexpr Bytes operator+(Bytes a, Bytes b) {
  return Bytes(a.value() + b.value());
}
constexpr Bytes operator-(Bytes a, Bytes b) {
  return Bytes(a.value() - b.value());
}
constexpr Bytes operator*(std::int64_t factor, Bytes a) {
  return Bytes(factor * a.value());
}
constexpr Seconds operator/(Bytes size, BytesPerSecond rate) {
  return Seconds(static_cast<double>(size.value()) / rate.value());
}
constexpr BytesPerSecond operator/(Bytes size, Seconds time) {
  return BytesPerSecond(static_cast<double>(size.value()) / time.value());
}
constexpr BytesPerSecond operator*(double factor, BytesPerSecond rate) {
  return BytesPerSecond(factor * rate.value());
}
constexpr Seconds operator/(Flops work, FlopsPerSecond rate) {
  return Seconds(work.value() / rate.value());
}

}  // namespace podsim

#endif  // PODSIM_BASE_UNITS_H_
