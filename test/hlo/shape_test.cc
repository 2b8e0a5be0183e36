#include "hlo/shape.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "hlo/parser.h"
#include "test/support/error_of.h"

namespace podsim {
namespace {

HloShape Shape(const std::string& text) { return ParseHloShape(text, "shape"); }

std::int64_t BytesOf(const std::string& text) {
  return LogicalBytes(Shape(text)).value();
}

struct TypeBits {
  const char* type;
  int bits;
};

// XLA's primitive_util.h; a pred has one byte.
const std::vector<TypeBits> kTypeBits = {{"pred", 8},
                                         {"s1", 1},
                                         {"u1", 1},
                                         {"s2", 2},
                                         {"u2", 2},
                                         {"s4", 4},
                                         {"u4", 4},
                                         {"f4e2m1fn", 4},
                                         {"f6e2m3fn", 6},
                                         {"f6e3m2fn", 6},
                                         {"s8", 8},
                                         {"u8", 8},
                                         {"f8e5m2", 8},
                                         {"f8e4m3", 8},
                                         {"f8e4m3fn", 8},
                                         {"f8e3m4", 8},
                                         {"f8e4m3b11fnuz", 8},
                                         {"f8e5m2fnuz", 8},
                                         {"f8e4m3fnuz", 8},
                                         {"f8e8m0fnu", 8},
                                         {"s16", 16},
                                         {"u16", 16},
                                         {"f16", 16},
                                         {"bf16", 16},
                                         {"s32", 32},
                                         {"u32", 32},
                                         {"f32", 32},
                                         {"s64", 64},
                                         {"u64", 64},
                                         {"f64", 64},
                                         {"c64", 64},
                                         {"c128", 128}};

TEST_CASE("an array has elements times bits, rounded up to bytes",
          "[hlo][shape]") {
  CHECK(HloElementTypeNames().size() == kTypeBits.size());
  for (const auto& [type, bits] : kTypeBits) {
    CAPTURE(type);
    const auto found = FindHloElementType(type);
    REQUIRE(found);
    CHECK(ToText(*found) == std::string(type));
    CHECK(BitsPerElement(*found) == bits);
    // 1, 3, 7 and 1001 elements: none is a multiple of 8.
    for (const std::int64_t elements : {1, 3, 7, 1001}) {
      CHECK(BytesOf(std::string(type) + "[" + std::to_string(elements) + "]") ==
            (elements * bits + 7) / 8);
    }
    CHECK(BytesOf(std::string(type) + "[5,0,3]") == 0);
    CHECK(BytesOf(std::string(type) + "[]") == (bits + 7) / 8);
    CHECK(BytesOf(std::string(type) + "[16,3,<=5]{2,1,0:T(8,128)}") ==
          16 * 3 * 5 * bits / 8);
  }
  CHECK_FALSE(FindHloElementType("float32"));
  CHECK_FALSE(FindHloElementType("token"));
}

TEST_CASE("tuples sum their elements, tokens and opaque shapes have no bytes",
          "[hlo][shape]") {
  CHECK(BytesOf("()") == 0);
  CHECK(BytesOf("token[]") == 0);
  CHECK(BytesOf("opaque[]") == 0);
  CHECK(BytesOf("(f32[8], (s4[3], s4[3]), token[])") == 32 + 2 + 2);
  CHECK(BytesOf("b(bf16[10])") == 20);
  // An unbounded dimension counts as 1.
  CHECK(BytesOf("f32[?,3]") == 12);
}

TEST_CASE("sums and products stop at 2^62", "[hlo][shape]") {
  const std::int64_t most = std::int64_t{1} << 62;
  CHECK(SaturatingAdd(most - 1, 1) == most);
  CHECK(SaturatingAdd(most, most) == most);
  CHECK(SaturatingAdd(3, 4) == 7);
  CHECK(SaturatingMultiply(std::int64_t{1} << 31, std::int64_t{1} << 31) ==
        most);
  CHECK(SaturatingMultiply(most, 2) == most);
  CHECK(SaturatingMultiply(most, 0) == 0);
  CHECK(SaturatingMultiply(6, 7) == 42);
  // An array of 2^48 bytes is the largest; a million of them in a tuple do not
  // overflow.
  CHECK(BytesOf("u8[16777216,16777216]") == std::int64_t{1} << 48);
  const HloShape large = Shape("u8[16777216,16777216]");
  CHECK(
      LogicalBytes(TupleShape(std::vector<HloShape>(100'000, large))).value() ==
      most);
}

TEST_CASE("shapes print as they were written", "[hlo][shape]") {
  for (const char* text :
       {"f32[]", "f32[]{}", "bf16[8,128]{1,0:T(8,128)(2,1)S(1)}",
        "(bf16[1,6144]{1,0:T(2,128)(2,1)}, token[], ())",
        "s4[3,<=7,?]{2,1,0:E(4)}", "f32[<=?]", "opaque[]", "b(f32[8]{0})",
        "u32[]{:S(2)}", "((f32[8]{0}, f32[8]{0}), (f32[8]{0}), u32[])",
        "f32[2,3]{1,0:D(D,C)T(*,128)L(8)#(u32)*(s16)SC(0:1,2)M(3)}"}) {
    CAPTURE(text);
    const HloShape shape = Shape(text);
    CHECK(ToText(shape) == text);
    CHECK(Shape(ToText(shape)) == shape);
  }
}

TEST_CASE("the parts of a shape are found", "[hlo][shape]") {
  const HloShape array = Shape("bf16[8,<=128,?]{2,1,0:T(8,128)(2,1)S(5)}");
  CHECK(IsArray(array));
  CHECK(array.type == HloElementType::kBF16);
  CHECK(array.dimensions ==
        std::vector<std::int64_t>{8, 128, kUnboundedDimension});
  CHECK(array.dynamic_dimensions == 0b010);
  CHECK(array.memory_space == 5);
  CHECK(array.layout == "{2,1,0:T(8,128)(2,1)S(5)}");
  CHECK(ElementCount(array) == 8 * 128);
  // The sharding of a split, not the space: SC(..).
  CHECK(Shape("f32[8]{0:SC(0:4)}").memory_space == 0);
  CHECK(Shape("f32[8]{0:T(128)SC(0:4)S(1)}").memory_space == 1);

  const HloShape tuple = Shape("(f32[8], (s32[], pred[2]))");
  CHECK(IsTuple(tuple));
  CHECK(ElementAt(tuple, {}) == &tuple);
  CHECK(*ElementAt(tuple, {1, 1}) == Shape("pred[2]"));
  CHECK(ElementAt(tuple, {2}) == nullptr);
  CHECK(ElementAt(tuple, {-1}) == nullptr);
  CHECK(ElementAt(tuple, {0, 0}) == nullptr);
  CHECK(SameDimensions(tuple, Shape("(f32[8]{0}, (s32[], pred[2]{0}))")));
  CHECK_FALSE(SameDimensions(tuple, Shape("(f32[8], (s32[], pred[3]))")));
  CHECK_FALSE(SameDimensions(tuple, Shape("(f32[8], (u32[], pred[2]))")));
  CHECK_FALSE(SameDimensions(Shape("()"), Shape("token[]")));
}

TEST_CASE("a text that is more or less than a shape is refused",
          "[hlo][shape][bad]") {
  const auto message = [](const std::string& text) {
    return ErrorOf([&] { Shape(text); });
  };
  CHECK(message("") == "shape: the text ends, expected a shape");
  CHECK(message("f32[8") ==
        "shape: the text ends, expected ']' or ',' in a shape");
  CHECK(message("f32[8] x y") ==
        "shape:1:8: expected the end of the shape, found 'x'");
}

}  // namespace
}  // namespace podsim
