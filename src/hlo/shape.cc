#include "hlo/shape.h"

#include <algorithm>
#include <array>
#include <utility>

namespace podsim {
namespace {

constexpr std::int64_t kSaturation = std::int64_t{1} << 62;

struct TypeRow {
  const char* name;
  int bits;
  bool is_integer;  // or pred
  bool is_signed;   // signed integer
};

// In the order of HloElementType. Bits: XLA primitive_util.h; a pred is stored
// as one byte.
constexpr std::array kTypes = {
    TypeRow{"pred", 8, true, false},
    TypeRow{"s1", 1, true, true},
    TypeRow{"u1", 1, true, false},
    TypeRow{"s2", 2, true, true},
    TypeRow{"u2", 2, true, false},
    TypeRow{"s4", 4, true, true},
    TypeRow{"u4", 4, true, false},
    TypeRow{"f4e2m1fn", 4, false, false},
    TypeRow{"f6e2m3fn", 6, false, false},
    TypeRow{"f6e3m2fn", 6, false, false},
    TypeRow{"s8", 8, true, true},
    TypeRow{"u8", 8, true, false},
    TypeRow{"f8e5m2", 8, false, false},
    TypeRow{"f8e4m3", 8, false, false},
    TypeRow{"f8e4m3fn", 8, false, false},
    TypeRow{"f8e4m3b11fnuz", 8, false, false},
    TypeRow{"f8e3m4", 8, false, false},
    TypeRow{"f8e5m2fnuz", 8, false, false},
    TypeRow{"f8e4m3fnuz", 8, false, false},
    TypeRow{"f8e8m0fnu", 8, false, false},
    TypeRow{"s16", 16, true, true},
    TypeRow{"u16", 16, true, false},
    TypeRow{"f16", 16, false, false},
    TypeRow{"bf16", 16, false, false},
    TypeRow{"s32", 32, true, true},
    TypeRow{"u32", 32, true, false},
    TypeRow{"f32", 32, false, false},
    TypeRow{"s64", 64, true, true},
    TypeRow{"u64", 64, true, false},
    TypeRow{"f64", 64, false, false},
    TypeRow{"c64", 64, false, false},
    TypeRow{"c128", 128, false, false},
};
static_assert(kTypes.size() ==
              static_cast<std::size_t>(HloElementType::kC128) + 1);

const TypeRow& RowOf(HloElementType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

void AppendDimensions(const HloShape& shape, std::string& text) {
  text += '[';
  for (std::size_t d = 0; d < shape.dimensions.size(); ++d) {
    if (d > 0) text += ',';
    if ((shape.dynamic_dimensions >> d & 1) != 0) text += "<=";
    const std::int64_t size = shape.dimensions[d];
    text += size == kUnboundedDimension ? "?" : std::to_string(size);
  }
  text += ']';
}

void AppendShape(const HloShape& shape, std::string& text) {
  switch (shape.kind) {
    case HloShapeKind::kArray:
      text += ToText(shape.type);
      AppendDimensions(shape, text);
      break;
    case HloShapeKind::kToken:
      text += "token[]";
      break;
    case HloShapeKind::kOpaque:
      text += "opaque[]";
      break;
    case HloShapeKind::kTuple:
    case HloShapeKind::kBuffer:
      text += shape.kind == HloShapeKind::kBuffer ? "b(" : "(";
      for (std::size_t i = 0; i < shape.elements.size(); ++i) {
        if (i > 0) text += ", ";
        AppendShape(shape.elements[i], text);
      }
      text += ')';
      break;
  }
  text += shape.layout;
}

}  // namespace

const char* ToText(HloElementType type) { return RowOf(type).name; }

std::optional<HloElementType> FindHloElementType(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (name == kTypes[i].name) return static_cast<HloElementType>(i);
  }
  return std::nullopt;
}

std::vector<std::string> HloElementTypeNames() {
  std::vector<std::string> names;
  for (const TypeRow& row : kTypes) names.emplace_back(row.name);
  return names;
}

int BitsPerElement(HloElementType type) { return RowOf(type).bits; }
bool IsInteger(HloElementType type) { return RowOf(type).is_integer; }
bool IsSigned(HloElementType type) { return RowOf(type).is_signed; }

HloShape ArrayShape(HloElementType type, std::vector<std::int64_t> dimensions) {
  HloShape shape;
  shape.kind = HloShapeKind::kArray;
  shape.type = type;
  shape.dimensions = std::move(dimensions);
  return shape;
}

HloShape TupleShape(std::vector<HloShape> elements) {
  HloShape shape;
  shape.kind = HloShapeKind::kTuple;
  shape.elements = std::move(elements);
  return shape;
}

bool IsArray(const HloShape& shape) {
  return shape.kind == HloShapeKind::kArray;
}
bool IsTuple(const HloShape& shape) {
  return shape.kind == HloShapeKind::kTuple;
}

std::int64_t ElementCount(const HloShape& shape) {
  if (!IsArray(shape)) return 0;
  std::int64_t count = 1;
  for (const std::int64_t size : shape.dimensions) {
    count = SaturatingMultiply(count, size == kUnboundedDimension ? 1 : size);
  }
  return count;
}

Bytes LogicalBytes(const HloShape& shape) {
  if (IsArray(shape)) {
    constexpr std::int64_t kBitsPerByte = 8;
    const std::int64_t bits =
        SaturatingMultiply(ElementCount(shape), BitsPerElement(shape.type));
    return Bytes(bits / kBitsPerByte + (bits % kBitsPerByte == 0 ? 0 : 1));
  }
  std::int64_t sum = 0;
  for (const HloShape& element : shape.elements) {
    sum = SaturatingAdd(sum, LogicalBytes(element).value());
  }
  return Bytes(sum);
}

std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  return a > kSaturation - b ? kSaturation : a + b;
}

Bytes SaturatingAdd(Bytes a, Bytes b) {
  return Bytes(SaturatingAdd(a.value(), b.value()));
}

std::int64_t SaturatingMultiply(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > kSaturation / b ? kSaturation : a * b;
}

const HloShape* ElementAt(const HloShape& shape, const std::vector<int>& path) {
  const HloShape* element = &shape;
  for (const int index : path) {
    if (!IsTuple(*element) || index < 0 ||
        static_cast<std::size_t>(index) >= element->elements.size()) {
      return nullptr;
    }
    element = &element->elements[static_cast<std::size_t>(index)];
  }
  return element;
}

bool SameDimensions(const HloShape& a, const HloShape& b) {
  if (a.kind != b.kind) return false;
  if (IsArray(a)) return a.type == b.type && a.dimensions == b.dimensions;
  return std::ranges::equal(a.elements, b.elements, SameDimensions);
}

std::string ToText(const HloShape& shape) {
  std::string text;
  AppendShape(shape, text);
  return text;
}

}  // namespace podsim
