// Short texts that say a lot: every question about a module is answered or
// refused at once, and no number overflows.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "hlo/collectives.h"
#include "hlo/cost.h"
#include "hlo/parser.h"
#include "hlo/trip_count.h"
#include "test/support/error_of.h"

namespace podsim {
namespace {

HloModule Read(const std::string& text) {
  return ParseHlo(text, "m.hlo").front();
}

// The module whose entry computes `r` of p, f32[8].
HloModule WithEntry(const std::string& before, const std::string& r) {
  return Read(before + "ENTRY e {\n  p = f32[8] parameter(0)\n  ROOT r = " + r +
              "\n}\n");
}

// Line by line from "x0 = ..": x(i+1) = opcode(xi, xi).
std::string Doubling(const std::string& shape, const std::string& opcode,
                     int times) {
  std::string text;
  for (int i = 0; i < times; ++i) {
    const std::string x = "x" + std::to_string(i);
    text += "  x" + std::to_string(i + 1) + " = " + shape + " " + opcode + "(" +
            x + ", " + x + ")\n";
  }
  return text;
}

HloCost CostOfRoot(const HloModule& module) {
  const HloComputation& entry = module.computations[*module.entry];
  return CostOf(module, *module.entry, entry.root);
}

TEST_CASE("a sum of sums in a loop is given up", "[hlo][hostile]") {
  const std::string add = Doubling("s32[]", "add", 90);
  const HloModule module = Read(
      "c {\n  p = (s32[]) parameter(0)\n"
      "  x0 = s32[] get-tuple-element(p), index=0\n"
      "  k = s32[] constant(5)\n"
      "  ROOT r = pred[] compare(x0, k), direction=LT\n}\n"
      "b {\n  p = (s32[]) parameter(0)\n  x0 = s32[] constant(0)\n" +
      add +
      "  ROOT t = (s32[]) tuple(x90)\n}\n"
      "ENTRY e {\n  z = s32[] constant(0)\n  t = (s32[]) tuple(z)\n"
      "  ROOT w = (s32[]) while(t), condition=c, body=b\n}\n");
  const TripCount trips = FindTripCount(module, 2, 2);
  CHECK(trips.source == TripCountSource::kUnknown);
  CHECK(trips.reason == "its body does not add a constant to element 0");
}

TEST_CASE("an element of a nested tuple is not one of the loop's",
          "[hlo][hostile]") {
  // Of p#0#1 the last index alone would look like element 1.
  const HloModule module = Read(
      "c {\n  p = ((s32[], s32[]), s32[]) parameter(0)\n"
      "  k = s32[] constant(5)\n"
      "  ROOT r = pred[] compare(p#0#1, k), direction=LT\n}\n"
      "b {\n  p = ((s32[], s32[]), s32[]) parameter(0)\n"
      "  one = s32[] constant(1)\n  n = s32[] add(p#1, one)\n"
      "  a = (s32[], s32[]) get-tuple-element(p), index=0\n"
      "  ROOT t = ((s32[], s32[]), s32[]) tuple(a, n)\n}\n"
      "ENTRY e {\n  z = s32[] constant(0)\n  y = (s32[], s32[]) tuple(z, z)\n"
      "  t = ((s32[], s32[]), s32[]) tuple(y, z)\n"
      "  ROOT w = ((s32[], s32[]), s32[]) while(t), condition=c, body=b\n}\n");
  CHECK(FindTripCount(module, 2, 3).source == TripCountSource::kUnknown);
}

TEST_CASE("tuples of tuples in a fusion saturate", "[hlo][hostile]") {
  // 2^100 times 32 bytes are written, at most operand and result count: 32
  // bytes each.
  const HloModule module =
      WithEntry("f {\n  x0 = f32[8] parameter(0)\n" +
                    Doubling("f32[8]", "tuple", 100) + "}\n",
                "f32[8] fusion(p), kind=kLoop, calls=f");
  CHECK(CostOfRoot(module).bytes == Bytes(64));
  CHECK(CostOfRoot(module).bytes_in_place == Bytes(64));
}

// f0 that holds `leaf`, and up to f`levels` fusions of f32[8] p that call the
// one before twice.
HloModule DoublingFusions(const std::string& leaf, int levels) {
  std::string text = "f0 {\n  p = f32[8] parameter(0)\n" + leaf + "}\n";
  for (int i = 0; i < levels; ++i) {
    const std::string call =
        " = f32[8] fusion(p), calls=f" + std::to_string(i) + "\n";
    text += "f" + std::to_string(i + 1) + " {\n  p = f32[8] parameter(0)\n" +
            "  a" + call + "  b" + call + "}\n";
  }
  return WithEntry("HloModule m, num_partitions=4\n" + text,
                   "f32[8] fusion(p), calls=f" + std::to_string(levels));
}

const std::string kGather =
    "  g = f32[8] all-gather(p), dimensions={0}, channel_id=1, "
    "use_global_device_ids=true, replica_groups=[1,4]<=[4]\n";

std::size_t CollectivesInRoot(const HloModule& module) {
  const auto found =
      FindCommunication(module, InferDevices(module), *module.entry,
                        module.computations[*module.entry].root);
  return found ? found->collectives.size() : 0;
}

TEST_CASE("fusions of fusions hold up to 128 collectives", "[hlo][hostile]") {
  CHECK(CollectivesInRoot(DoublingFusions("", 200)) == 0);
  CHECK(CollectivesInRoot(DoublingFusions(kGather, 7)) == 128);
  // f8 ends in line 5 + 8 x 5; the root stands three lines below.
  CHECK(ErrorOf([] { CollectivesInRoot(DoublingFusions(kGather, 8)); }) ==
        "m.hlo:48:8: more than 128 collectives in one fusion");
}

TEST_CASE("the work of fusions that double stays a number", "[hlo][hostile]") {
  // 2 x 2 x 2 x 2 multiply-adds, 2 flops each, in 2^20 places.
  const std::string dot =
      "  d = f32[2,2] dot(f32[2,2] iota(), f32[2,2] iota()), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  const auto flops = [&](int levels) {
    return CostOfRoot(DoublingFusions(dot, levels)).flops.value();
  };
  CHECK(flops(0) == 16);
  CHECK(flops(20) == 16.0 * (1 << 20));
  const std::string loop =
      "  w = f32[8] while(p), condition=f0, body=f0, "
      "backend_config={\"known_trip_count\":{\"n\":\"4611686018427387904\"}}\n";
  std::string text = "f0 {\n  p = f32[8] parameter(0)\n" + dot + "}\n";
  for (int i = 0; i < 40; ++i) {
    std::string calls = loop;
    calls.replace(calls.find("body=f0"), 7, "body=f" + std::to_string(i));
    text += "f" + std::to_string(i + 1) + " {\n  p = f32[8] parameter(0)\n" +
            calls + "}\n";
  }
  const HloModule module = WithEntry(text, "f32[8] fusion(p), calls=f40");
  CHECK(CostOfRoot(module).flops == Flops(1e300));
}

// FLOPs of a convolution of one spatial dimension, all else 1.
double Convolution(int input, int output, const std::string& window) {
  const auto array = [](int size) {
    return "f32[1," + std::to_string(size) + ",1]";
  };
  return CostOfRoot(Read("ENTRY e {\n  p = " + array(input) +
                         " parameter(0)\n  k = f32[1,1,1] parameter(1)\n"
                         "  ROOT c = " +
                         array(output) +
                         " convolution(p, k), dim_labels=b0f_0io->b0f, "
                         "window={" +
                         window + "}\n}\n"))
      .flops.value();
}

TEST_CASE("valid pairs of windows are those of counting", "[hlo][hostile]") {
  for (int size = 0; size < 6; ++size) {
    for (int output = 1; output < 6; ++output) {
      for (const int stride : {1, 2, 3, 4}) {
        for (const int pad : {-2, 0, 3}) {
          for (const int base : {1, 2, 4, 6}) {
            for (const int dilate : {1, 2, 3}) {
              const int input = 4;
              int pairs = 0;
              for (int k = 0; k < size; ++k) {
                for (int o = 0; o < output; ++o) {
                  const int at = o * stride + k * dilate - pad;
                  pairs += at >= 0 && at % base == 0 && at / base < input;
                }
              }
              const auto text = [](int value) { return std::to_string(value); };
              const std::string window =
                  "size=" + text(size) + " stride=" + text(stride) +
                  " pad=" + text(pad) + "_0 lhs_dilate=" + text(base) +
                  " rhs_dilate=" + text(dilate);
              CAPTURE(window, output);
              CHECK(Convolution(input, output, window) == 2.0 * pairs);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("windows of any size are counted or refused at once",
          "[hlo][hostile]") {
  // One output position meets as many kernel positions as there is input.
  CHECK(Convolution(7, 1, "size=9223372036854775807") == 14);
  // Each product would overflow 64 bits; 0 is the only element hit.
  const std::string large = "9223372036854775807";
  CHECK(Convolution(7, 5,
                    "size=4 stride=" + large + " lhs_dilate=" + large +
                        " rhs_dilate=" + large) > 0);
  CHECK(ErrorOf([] { Convolution(7, 200'000, "size=200000"); }) ==
        "m.hlo:4:8: window: size 200000 and output 200000 of dimension 0, "
        "expected one of them to be at most 131072, that of all dimensions "
        "together");
}

TEST_CASE("an unbounded dimension counts as 1 in a dot", "[hlo][hostile]") {
  const HloModule module = Read(
      "ENTRY e {\n  p = f32[4,?] parameter(0)\n  q = f32[?,8] parameter(1)\n"
      "  ROOT d = f32[4,8] dot(p, q), lhs_contracting_dims={1}\n}\n");
  CHECK(CostOfRoot(module).flops == Flops(2 * 4 * 8));
  CHECK(ErrorOf([] {
          CostOfRoot(
              WithEntry("", "f32[] dot(p, p), lhs_contracting_dims={0,0}"));
        }) == "m.hlo:3:8: contracts dimension 0 twice");
}

TEST_CASE("slice sizes of a permute are not negative", "[hlo][hostile]") {
  const auto sliced = [](const std::string& sizes) {
    const HloModule module =
        WithEntry("HloModule m, num_partitions=2\n",
                  "f32[8] collective-permute(p), channel_id=1, "
                  "source_target_pairs={{0,1}}, slice_sizes=" +
                      sizes);
    return FindCommunication(module, InferDevices(module), 0, 1)
        ->collectives[0]
        .payload;
  };
  CHECK(sliced("{{2},{3}}") == Bytes(4 * (2 + 3)));
  CHECK(ErrorOf([&] { sliced("{{2,-3}}"); }) ==
        "m.hlo:4:8: slice_sizes={{2,-3}}: expected sizes such as {{2,128}}");
}

}  // namespace
}  // namespace podsim
