#ifndef PODSIM_BASE_CHECKSUM_H_
#define PODSIM_BASE_CHECKSUM_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace podsim {

// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv): tells texts apart
// and finds torn ones; no defence against an adversary. `hash` continues one.
constexpr std::uint64_t Fnv1a(std::string_view text,
                              std::uint64_t hash = 0xcbf29ce484222325ULL) {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

// 16 hexadecimal digits.
inline std::string Hex(std::uint64_t value) {
  std::string text(16, '0');
  for (auto digit = text.rbegin(); value != 0; ++digit, value >>= 4) {
    *digit = "0123456789abcdef"[value & 15];
  }
  return text;
}

}  // namespace podsim

#endif  // PODSIM_BASE_CHECKSUM_H_
