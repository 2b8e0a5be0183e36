// What a device holds while an HLO module runs, and what its ops need.
#include <catch2/catch.hpp>

#include "hlo/parser.h"
#include "workload/hlo_memory.h"
#include "workload/hlo_workload.h"

namespace podsim {
namespace {

HloModule Parse(const std::string& text) {
  const std::vector<HloModule> modules = ParseHlo(text, "m.hlo");
  REQUIRE(modules.size() == 1);
  return modules[0];
}

// Arrays of 1 kB.
const std::string kHead = "HloModule m, num_partitions=4\n";

Bytes PeakOf(const std::string& text) {
  const HloModule module = Parse(text);
  return HloMemory(module).EntryPeak().peak;
}

TEST_CASE("a buffer lives from its making to its last reader",
          "[workload][memory]") {
  // p stays; a and b while b is made; then b and c.
  const std::string chain = kHead + R"(ENTRY e {
  p = u8[1000] parameter(0)
  a = u8[1000] negate(p)
  b = u8[1000] negate(a)
  ROOT c = u8[1000] negate(b)
}
)";
  CHECK(PeakOf(chain) == Bytes(3000));
  const HloModule module = Parse(chain);
  const HloMemory memory(module);
  CHECK(memory.Usage(0, 1) == Bytes(2000));
  CHECK(memory.Usage(0, 3) == Bytes(3000));
  // A donated parameter goes after its last reader.
  CHECK(PeakOf("HloModule m, num_partitions=4, input_output_alias={ {}: (0, "
               "{}, may-alias) }\n" +
               chain.substr(kHead.size())) == Bytes(2000));
}

TEST_CASE("views and what is written in place take no memory",
          "[workload][memory]") {
  CHECK(PeakOf(kHead + R"(ENTRY e {
  p = u8[1000] parameter(0)
  i = s32[] parameter(1)
  u = u8[10] parameter(2)
  a = u8[1000] negate(p)
  t = (u8[1000], u8[1000]) tuple(a, p)
  g = u8[1000] get-tuple-element(t), index=0
  v = u8[10,100] bitcast(g)
  w = u8[1000] bitcast(v)
  ROOT d = u8[1000] dynamic-update-slice(w, u, i)
}
)") == Bytes(1000 + 4 + 10 + 1000));
}

TEST_CASE("an async op holds its operand and its result until its done",
          "[workload][memory]") {
  const std::string text = kHead + R"(ENTRY e {
  p = u8[1000] parameter(0)
  a = u8[1000] negate(p)
  s = (u8[1000], u8[4000]) all-gather-start(a), dimensions={0}, replica_groups={{0,1,2,3}}
  b = u8[500] slice(p), slice={[0:500]}
  g = u8[4000] all-gather-done(s)
  ROOT r = u8[500] negate(b)
}
)";
  const HloModule module = Parse(text);
  const HloMemory memory(module);
  CHECK(memory.Usage(0, 2) == Bytes(6000));
  CHECK(memory.Usage(0, 3) == Bytes(6500));
  CHECK(memory.Usage(0, 5) == Bytes(2000));
}

const std::string kLoop = kHead + R"(body {
  s = (s32[], u8[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = u8[1000] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = u8[5000] pad(x, i), padding=0_4000
  z = u8[1000] slice(y), slice={[0:1000]}
  ROOT t = (s32[], u8[1000]) tuple(j, z)
}
condition {
  s = (s32[], u8[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  p = u8[1000] parameter(0)
  zero = s32[] constant(0)
  a = u8[1000] negate(p)
  s = (s32[], u8[1000]) tuple(zero, a)
  w = (s32[], u8[1000]) while(s), condition=condition, body=body
  ROOT r = u8[1000] get-tuple-element(w), index=1
}
)";

TEST_CASE("a loop holds its state and the most of one iteration",
          "[workload][memory]") {
  // p, a; of an iteration j, y and z.
  const HloModule module = Parse(kLoop);
  const HloMemory memory(module);
  CHECK(memory.Peak(0) == Bytes(4 + 5000 + 1000));
  const StepMemory peak = memory.EntryPeak();
  CHECK(peak.peak == Bytes(2000 + 6004));
  CHECK(peak.at == "z");
  REQUIRE(peak.live.size() == 5);
  CHECK(peak.live[0].name == "y");
  CHECK(peak.live[0].bytes == Bytes(5000));
}

TEST_CASE("what is in VMEM is not in HBM", "[workload][memory]") {
  CHECK(PeakOf(kHead + R"(ENTRY e {
  p = u8[1000] parameter(0)
  a = u8[1000]{0:S(1)} negate(p)
  ROOT b = u8[1000] negate(a)
}
)") == Bytes(2000));
}

TEST_CASE("ops need what their operands come from", "[workload][hlo]") {
  const std::string text = R"(HloModule m, num_partitions=4
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
body {
  s = (s32[], f32[64,64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64,64] get-tuple-element(s), index=1
  y = f32[64,64] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  d1 = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d2 = f32[64,64] dot(y, d1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  r = f32[64,64] all-reduce(d2), channel_id=1, use_global_device_ids=true, replica_groups={{0,1,2,3}}, to_apply=add
  ROOT t = (s32[], f32[64,64], f32[64,64]) tuple(j, r, y)
}
condition {
  s = (s32[], f32[64,64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  p = f32[64,64] parameter(0)
  zero = s32[] constant(0)
  d0 = f32[64,64] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = (s32[], f32[64,64], f32[64,64]) tuple(zero, p, d0)
  w = (s32[], f32[64,64], f32[64,64]) while(s), condition=condition, body=body
  x = f32[64,64] get-tuple-element(w), index=1
  ROOT d3 = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)";
  HloRequest request;
  request.slice.spec = "v5e:2x2";
  request.slice.spec_where = "--slice";
  const Workload workload = MakeHloWorkload(Parse(text), request);
  const auto deps = [&](const std::string& id) {
    std::vector<std::string> names;
    for (const StepOp& op : workload.graph.ops) {
      if (op.id != id) continue;
      for (const std::uint32_t dep : op.deps) {
        names.push_back(workload.graph.ops[dep].id);
      }
    }
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(deps("d0") == Names{});
  CHECK(deps("d1") == Names{"r"});  // of the iteration before
  CHECK(deps("d2") == Names{"d0", "d1"});
  CHECK(deps("r") == Names{"d2"});
  CHECK(deps("d3") == Names{"r"});
}

}  // namespace
}  // namespace podsim
