// Steps of small HLO modules.
#include <algorithm>
#include <catch2/catch.hpp>

#include "hlo/parser.h"
#include "test/support/error_of.h"
#include "workload/hlo_workload.h"

namespace podsim {
namespace {

const std::string kAdd = R"(add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
)";

Workload Make(const std::string& text, const std::string& slice,
              HloRequest request = {}) {
  const std::vector<HloModule> modules = ParseHlo(text, "m.hlo");
  REQUIRE(modules.size() == 1);
  request.slice.spec = slice;
  request.slice.spec_where = "--slice";
  return MakeHloWorkload(modules[0], request);
}

// An entry with a parameter p of f32[64,64] and these instructions.
std::string Entry(const std::string& instructions, int devices = 16,
                  const std::string& before = kAdd) {
  return "HloModule m, num_partitions=" + std::to_string(devices) + "\n" +
         before + "ENTRY e {\n  p = f32[64,64] parameter(0)\n" + instructions +
         "}\n";
}

std::string AllReduce(const std::string& name, const std::string& groups) {
  return "  " + name + " = f32[64,64] all-reduce(p), channel_id=1, " +
         "use_global_device_ids=true, to_apply=add, replica_groups=" + groups +
         "\n";
}

const std::string kDot =
    "  d = f32[64,64] dot(p, p), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}\n";

TEST_CASE("groups of devices become axes where they are", "[workload][hlo]") {
  const auto axes_of = [](const std::string& groups,
                          const std::string& assignment = "iota") {
    HloRequest request;
    request.device_assignment = assignment;
    const Workload workload =
        Make(Entry(AllReduce("r", groups)), "v5e:4x4", request);
    REQUIRE(workload.graph.ops.size() == 1);
    const Collective& collective = *workload.graph.ops[0].collective;
    CHECK(collective.kind == CollectiveKind::kAllReduce);
    CHECK(collective.payload == Bytes(64 * 64 * 4));
    return collective.groups.empty() ? collective.axes : std::vector<int>();
  };
  CHECK(axes_of("[4,4]<=[16]") == std::vector<int>{0});
  CHECK(axes_of("[4,4]<=[4,4]T(1,0)") == std::vector<int>{1});
  CHECK(axes_of("[1,16]<=[16]") == std::vector<int>{0, 1});
  // The order of ranks is no matter of time.
  CHECK(axes_of("{{3,1,2,0},{4,5,6,7},{8,9,10,11},{12,13,14,15}}") ==
        std::vector<int>{0});
  // Halves of lines are no axes.
  CHECK(axes_of("[8,2]<=[16]").empty());
}

TEST_CASE("what stays on a chip is no collective", "[workload][hlo]") {
  const Workload workload =
      Make(Entry(AllReduce("r", "[16,1]<=[16]") + kDot), "v5e:4x4");
  REQUIRE(workload.graph.ops.size() == 1);
  CHECK(workload.graph.ops[0].id == "d");
}

TEST_CASE("two devices of a chip take part as one chip", "[workload][hlo]") {
  // v7x:2x1x1: devices 0, 1 on chip 0 and 2, 3 on chip 1.
  const Workload apart =
      Make(Entry(AllReduce("r", "{{0,2},{1,3}}"), 4), "v7x:2x1x1");
  REQUIRE(apart.graph.ops.size() == 1);
  CHECK(apart.graph.ops[0].collective->payload == Bytes(2 * 64 * 64 * 4));
  const Workload together =
      Make(Entry(AllReduce("r", "{{0,1},{2,3}}") + kDot, 4), "v7x:2x1x1");
  CHECK(together.graph.ops.size() == 1);
  const Workload all =
      Make(Entry(AllReduce("r", "[1,4]<=[4]"), 4), "v7x:2x1x1");
  CHECK(all.graph.ops[0].collective->payload == Bytes(64 * 64 * 4));
}

TEST_CASE("a compute takes its roofline time", "[workload][hlo]") {
  HloRequest request;
  request.compute_scale = 1.5;
  const Workload workload = Make(
      Entry("  x = bf16[512,4096] parameter(1)\n"
            "  y = bf16[4096,8192] parameter(2)\n"
            "  ROOT d = bf16[512,8192] dot(x, y), lhs_contracting_dims={1}, "
            "rhs_contracting_dims={0}\n",
            1),
      "v5e:1x1", request);
  REQUIRE(workload.graph.ops.size() == 1);
  const double flops = 2.0 * 512 * 4096 * 8192;
  const Bytes bytes(2 * (512 * 4096 + 4096 * 8192 + 512 * 8192));
  const Parameters& chip = workload.slice.parameters;
  const double expected = std::max(flops / chip.chip_flops.at("bf16").value(),
                                   (bytes / *chip.hbm_bandwidth).value());
  CHECK(workload.graph.ops[0].duration.value() ==
        Approx(1.5 * expected).epsilon(1e-12));
  CHECK(workload.graph.ops[0].hbm == bytes);
}

TEST_CASE("elementwise ops take time once the module is fused",
          "[workload][hlo]") {
  const std::string negate = "  n = f32[64,64] negate(p)\n";
  CHECK(Make(Entry(negate + kDot), "v5e:4x4").graph.ops.size() == 1);
  const std::string fused =
      "f {\n  q = f32[64,64] parameter(0)\n  ROOT m = f32[64,64] multiply(q, "
      "q)\n}\n";
  const Workload workload = Make(
      Entry(negate + kDot + "  u = f32[64,64] fusion(p), kind=kLoop, calls=f\n",
            16, fused),
      "v5e:4x4");
  REQUIRE(workload.graph.ops.size() == 3);
  // Read once, written once.
  CHECK(workload.graph.ops[2].hbm == Bytes(2 * 64 * 64 * 4));
}

TEST_CASE("a start flies until its done", "[workload][hlo]") {
  const Workload workload =
      Make(Entry("  s = (f32[64,64], f32[256,64]) all-gather-start(p), "
                 "channel_id=1, use_global_device_ids=true, dimensions={0}, "
                 "replica_groups=[4,4]<=[16]\n" +
                 kDot + "  w = f32[256,64] all-gather-done(s)\n" +
                 AllReduce("r", "[4,4]<=[16]")),
           "v5e:4x4");
  const std::vector<StepItem>& items = workload.graph.items;
  REQUIRE(items.size() == 4);
  const StepOp& gather = workload.graph.ops[*items[0].op];
  CHECK(gather.async());
  CHECK(gather.collective->payload == Bytes(256 * 64 * 4));
  CHECK(workload.graph.ops[*items[1].op].id == "d");
  CHECK(items[2].wait);
  CHECK(items[2].op == items[0].op);
  CHECK_FALSE(workload.graph.ops[*items[3].op].async());
}

TEST_CASE("a send is a permute; its recv moves the same bytes",
          "[workload][hlo]") {
  const std::string pairs =
      "channel_id=3, frontend_attributes={_xla_send_recv_source_target_pairs="
      "\"{{0,1},{1,2},{3,3}}\"}\n";
  const Workload workload = Make(
      Entry("  t = token[] after-all()\n"
            "  v = (f32[64,64], u32[], token[]) recv(t), " +
            pairs + "  s = (f32[64,64], u32[], token[]) send(p, t), " + pairs +
            "  x = (f32[64,64], token[]) recv-done(v), channel_id=3\n"
            "  y = token[] send-done(s), channel_id=3\n"),
      "v5e:4x4");
  REQUIRE(workload.graph.ops.size() == 1);
  const Collective& permute = *workload.graph.ops[0].collective;
  CHECK(permute.kind == CollectiveKind::kCollectivePermute);
  CHECK(permute.pairs.size() == 2);
  CHECK(permute.payload == Bytes(64 * 64 * 4));
}

std::string Loop(const std::string& more) {
  return "c {\n  q = (s32[], f32[64,64]) parameter(0)\n  ROOT t = pred[] "
         "custom-call(q), custom_call_target=\"Sharding\"\n}\n"
         "b {\n  q = (s32[], f32[64,64]) parameter(0)\n  i = s32[] "
         "get-tuple-element(q), index=0\n  p = f32[64,64] "
         "get-tuple-element(q), index=1\n" +
         kDot + "  ROOT t = (s32[], f32[64,64]) tuple(i, d)\n}\n" +
         "ENTRY e {\n  z = s32[] constant(0)\n  p = f32[64,64] "
         "parameter(0)\n  t = (s32[], f32[64,64]) tuple(z, p)\n  ROOT w = "
         "(s32[], f32[64,64]) while(t), condition=c, body=b" +
         more + "\n}\n";
}

TEST_CASE("loops run as often as they say, or as they are told",
          "[workload][hlo]") {
  const auto repeat = [](const Workload& workload) {
    REQUIRE(workload.graph.items.size() == 1);
    return workload.graph.items[0].repeat;
  };
  const std::string known =
      ", backend_config={\"known_trip_count\":{\"n\":\"7\"}}";
  CHECK(repeat(Make(Loop(known), "v5e:1x1")) == 7);
  const Workload guessed = Make(Loop(""), "v5e:1x1");
  CHECK(repeat(guessed) == 1);
  CHECK(std::any_of(guessed.warnings.begin(), guessed.warnings.end(),
                    [](const std::string& text) {
                      return text.find("--trip-count w=N") != std::string::npos;
                    }));
  HloRequest request;
  request.trip_counts = {"5"};
  CHECK(repeat(Make(Loop(""), "v5e:1x1", request)) == 5);
  // For all unknown ones only; by name for any.
  CHECK(repeat(Make(Loop(known), "v5e:1x1", request)) == 7);
  request.trip_counts = {"5", "%w=3"};
  CHECK(repeat(Make(Loop(known), "v5e:1x1", request)) == 3);
}

TEST_CASE("a computation that is called twice has its ops twice",
          "[workload][hlo]") {
  const std::string callee = "f {\n  p = f32[64,64] parameter(0)\n" + kDot +
                             "  ROOT o = f32[64,64] copy(d)\n}\n";
  const Workload workload = Make(Entry("  x = f32[64,64] call(p), to_apply=f\n"
                                       "  y = f32[64,64] call(x), to_apply=f\n",
                                       16, callee),
                                 "v5e:4x4");
  REQUIRE(workload.graph.ops.size() == 2);
  CHECK(workload.graph.ops[0].id == "d");
  CHECK(workload.graph.ops[1].id == "d@2");
}

TEST_CASE("of a conditional the branch with the most work runs",
          "[workload][hlo]") {
  const std::string branches =
      "f {\n  ROOT p = f32[64,64] parameter(0)\n}\n"
      "g {\n  p = f32[64,64] parameter(0)\n" +
      kDot + "  ROOT o = f32[64,64] copy(d)\n}\n";
  const Workload workload =
      Make(Entry("  k = s32[] constant(0)\n  ROOT x = f32[64,64] "
                 "conditional(k, p, p), branch_computations={f, g}\n",
                 16, branches),
           "v5e:4x4");
  REQUIRE(workload.graph.ops.size() == 1);
  CHECK(workload.graph.ops[0].id == "d");
}

TEST_CASE("what cannot be a step is refused, with the remedy",
          "[workload][hlo]") {
  const auto error = [](const std::string& text, const std::string& slice,
                        HloRequest request = {}) {
    return ErrorOf([&] { Make(text, slice, std::move(request)); });
  };
  const std::string whole = Entry(AllReduce("r", "[4,4]<=[16]"));
  CHECK_THAT(error(whole.substr(0, whole.size() - 4), "v5e:4x4"),
             Catch::Contains("the module is not whole") &&
                 Catch::Contains("1 complete computations"));
  CHECK_THAT(error(whole, ""), Catch::Contains("pass --slice"));
  CHECK_THAT(error(whole, "v5e:2x2"),
             Catch::Contains("16") && Catch::Contains("v5e:4x4"));
  CHECK_THAT(error(Entry("  c = f32[] constant(1)\n"), "v5e:4x4"),
             Catch::Contains("nothing in this module takes time"));
  HloRequest request;
  request.trip_counts = {"while.1=3"};
  CHECK_THAT(error(Loop(""), "v5e:1x1", request),
             Catch::Contains("--trip-count while.1=3"));
  request.trip_counts = {"3", "4"};
  CHECK_THAT(error(Loop(""), "v5e:1x1", request),
             Catch::Contains("stands twice"));
  request.trip_counts = {"w=many"};
  CHECK_THAT(error(Loop(""), "v5e:1x1", request),
             Catch::Contains("expected an integer"));
}

TEST_CASE("calls that double are refused at a million instructions",
          "[workload][hlo]") {
  // c0 has 1 instruction, c(i) 3 and those of c(i-1) twice: 4 x 2^i - 3 written
  // out. The entry has p and a call, 2 more.
  const auto calls = [](int levels) {
    std::string text = "c0 {\n  x = f32[64,64] parameter(0)\n}\n";
    for (int i = 0; i < levels; ++i) {
      const std::string call =
          " = f32[64,64] call(x), to_apply=c" + std::to_string(i) + "\n";
      text += "c" + std::to_string(i + 1) +
              " {\n  x = f32[64,64] parameter(0)\n  a" + call + "  b" + call +
              "}\n";
    }
    return Entry("  r = f32[64,64] call(p), to_apply=c" +
                     std::to_string(levels) + "\n" + kDot,
                 1, text);
  };
  CHECK(Make(calls(17), "v5e:1x1").graph.ops.size() == 1);
  for (const int levels : {18, 200}) {
    const std::string error = ErrorOf([&] { Make(calls(levels), "v5e:1x1"); });
    CAPTURE(error);
    CHECK(
        error.ends_with("the module has more than a million instructions "
                        "once its calls are written out"));
  }
}

}  // namespace
}  // namespace podsim
