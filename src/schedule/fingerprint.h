#ifndef PODSIM_SCHEDULE_FINGERPRINT_H_
#define PODSIM_SCHEDULE_FINGERPRINT_H_

#include <cstdint>

namespace podsim {

// A multiset of contributions: how many, and the sums (modulo 2^64) of two
// random tags per contributor. Equal multisets have equal fingerprints;
// different ones collide with probability 2^-128, and a contribution counted
// twice always shows in the count.
struct Fingerprint {
  std::uint32_t count = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  bool operator==(const Fingerprint&) const = default;
  Fingerprint& operator+=(const Fingerprint& other) {
    count += other.count;
    first += other.first;
    second += other.second;
    return *this;
  }
};

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014): a bijective mixer.
constexpr std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr Fingerprint ContributionOf(std::uint32_t contributor) {
  return {1, Mix(contributor), Mix(~std::uint64_t{contributor})};
}

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_FINGERPRINT_H_
