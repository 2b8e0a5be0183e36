#ifndef PODSIM_HLO_SHAPE_H_
#define PODSIM_HLO_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace podsim {

// The element types of HLO, named as in the text (XLA xla_data.proto).
enum class HloElementType : std::uint8_t {
  kPred,
  kS1,
  kU1,
  kS2,
  kU2,
  kS4,
  kU4,
  kF4E2M1Fn,
  kF6E2M3Fn,
  kF6E3M2Fn,
  kS8,
  kU8,
  kF8E5M2,
  kF8E4M3,
  kF8E4M3Fn,
  kF8E4M3B11Fnuz,
  kF8E3M4,
  kF8E5M2Fnuz,
  kF8E4M3Fnuz,
  kF8E8M0Fnu,
  kS16,
  kU16,
  kF16,
  kBF16,
  kS32,
  kU32,
  kF32,
  kS64,
  kU64,
  kF64,
  kC64,
  kC128,
};

// "bf16", as in HLO text.
const char* ToText(HloElementType type);
// The type of this name, or nothing.
std::optional<HloElementType> FindHloElementType(std::string_view name);
// All names, in the order of the enumeration.
std::vector<std::string> HloElementTypeNames();
// Bits of one element: pred 8, s4 4, bf16 16, c64 64.
int BitsPerElement(HloElementType type);
// Integers and pred: what a loop counter may have.
bool IsInteger(HloElementType type);
bool IsSigned(HloElementType type);  // signed integers only

enum class HloShapeKind : std::uint8_t {
  kArray,
  kTuple,
  kToken,
  kOpaque,
  kBuffer,  // b(shape): elements[0] is what it wraps
};

// The size of a dimension written "?".
inline constexpr std::int64_t kUnboundedDimension = -1;

// The parser refuses larger arrays.
inline constexpr std::int64_t kMaxHloArrayBytes = std::int64_t{1} << 48;

// A shape as written. Ranks are at most 64.
struct HloShape {
  HloShapeKind kind = HloShapeKind::kTuple;
  HloElementType type = HloElementType::kF32;  // arrays
  std::int32_t memory_space = 0;               // n of S(n) in the layout
  std::uint64_t dynamic_dimensions = 0;        // bit d: dimension d is "<=n"
  std::vector<std::int64_t> dimensions;        // arrays; or kUnboundedDimension
  std::string layout;              // with its braces, as written; may be empty
  std::vector<HloShape> elements;  // tuples and buffers

  bool operator==(const HloShape&) const = default;
};

HloShape ArrayShape(HloElementType type, std::vector<std::int64_t> dimensions);
HloShape TupleShape(std::vector<HloShape> elements);

bool IsArray(const HloShape& shape);
bool IsTuple(const HloShape& shape);

// Elements of an array: the product of its dimensions, bounds of dynamic ones;
// an unbounded one counts as 1. 0 for everything else.
std::int64_t ElementCount(const HloShape& shape);

// Bytes of the elements on one device, padding of tiles ignored, rounded up to
// whole bytes per array. A tuple has the sum of its elements, tokens and opaque
// shapes have none. Sums saturate at 2^62.
Bytes LogicalBytes(const HloShape& shape);

// min(a + b, 2^62) and min(a * b, 2^62) of numbers from 0 to 2^62.
std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b);
Bytes SaturatingAdd(Bytes a, Bytes b);
std::int64_t SaturatingMultiply(std::int64_t a, std::int64_t b);

// The element at a tuple path, e.g. {1, 0}; null if there is none.
const HloShape* ElementAt(const HloShape& shape, const std::vector<int>& path);

// Equal types, dimensions and tuple structure; layouts are ignored.
bool SameDimensions(const HloShape& a, const HloShape& b);

// As HLO text: "(bf16[8,128]{1,0:T(8,128)}, token[])".
std::string ToText(const HloShape& shape);

}  // namespace podsim

#endif  // PODSIM_HLO_SHAPE_H_
