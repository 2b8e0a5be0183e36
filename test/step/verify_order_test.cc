// One mutation of a legal order or step per rule, with its whole message.
#include "step/verify_order.h"

#include <catch2/catch.hpp>
#include <functional>

#include "step/memory.h"
#include "test/step/step_builder.h"

namespace podsim {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

// 0 embed, 1-2 gather (weights), 3 matmul, 4-5 reduce, 6 update in place of 0,
// 7 loss.
AbstractStep LegalStep() {
  StepBuilder b;
  const std::uint32_t x = b.Fifo("ici_x");
  const std::uint32_t hbm = b.Share("hbm");
  const std::uint32_t embed = b.Compute(1, {}, 4 * kMiB);
  const std::uint32_t gather = b.Start(0, 1, {{x, 1}}, {}, 64 * kMiB);
  const std::uint32_t weights = b.Done(gather);
  const std::uint32_t matmul =
      b.Compute(1, {embed, weights}, 2 * kMiB, {{hbm, 0.5}});
  const std::uint32_t reduce = b.Start(0, 1, {{x, 1}}, {matmul}, kMiB);
  const std::uint32_t grads = b.Done(reduce);
  const std::uint32_t update = b.Compute(1, {embed, grads});
  const std::uint32_t loss = b.Compute(1, {update}, 8);
  b.step.ops[update].alias = embed;
  b.step.ops[loss].ctrl = {grads};
  b.step.outputs = {loss};
  b.step.in_flight = {{.resource = x, .most = 1}};
  b.step.memory_limit = Bytes(80 * kMiB);
  static constexpr const char* kNames[] = {
      "embed",  "gather-start", "gather-done", "matmul",
      "reduce", "reduce-done",  "update",      "loss"};
  for (std::size_t op = 0; op < b.step.ops.size(); ++op) {
    b.step.ops[op].name = kNames[op];
  }
  return b.step;
}

struct Mutation {
  const char* what;
  OrderRule rule;
  std::function<void(AbstractStep&, StepOrder&, std::vector<Bytes>&)> apply;
  std::vector<std::string> texts;
};

std::vector<Mutation> Mutations() {
  using Usage = std::vector<Bytes>;
  return {
      {"an op twice, another missing",
       OrderRule::kOnce,
       [](AbstractStep&, StepOrder& order, Usage&) { order[7] = 3; },
       {"schedule: op 3 (matmul) at position 3: stands again at position 7",
        "schedule: op 7 (loss): is missing"}},
      {"an unknown op",
       OrderRule::kOnce,
       [](AbstractStep&, StepOrder& order, Usage&) { order.push_back(8); },
       {"schedule: op 8: stands at position 8; the step has 8 ops"}},
      {"an operand later",
       OrderRule::kOperands,
       [](AbstractStep&, StepOrder& order, Usage&) {
         order = {1, 2, 3, 0, 4, 5, 6, 7};
       },
       {"schedule: op 3 (matmul) at position 2: its operand op 0 (embed) at "
        "position 3 stands after it"}},
      {"a control predecessor later",
       OrderRule::kOperands,
       [](AbstractStep& step, StepOrder& order, Usage&) {
         step.ops[6].deps = {0};
         order = {0, 1, 2, 3, 4, 6, 7, 5};
       },
       {"schedule: op 7 (loss) at position 6: its control predecessor op 5 "
        "(reduce-done) at position 7 stands after it"}},
      {"a donor later",
       OrderRule::kOperands,
       [](AbstractStep& step, StepOrder&, Usage&) {
         step.ops[6].deps = {5};
         step.ops[6].alias = 7;
         step.ops[7].deps = {};
         step.outputs = {};
       },
       {"schedule: op 6 (update) at position 6: the donor of its buffer op 7 "
        "(loss) at position 7 stands after it"}},
      {"an operand that does not exist",
       OrderRule::kOperands,
       [](AbstractStep& step, StepOrder&, Usage&) {
         step.ops[3].deps.push_back(99);
       },
       {"schedule: op 3 (matmul) at position 3: its operand, op 99, does not "
        "exist"}},
      {"a done before its start",
       OrderRule::kPairs,
       [](AbstractStep&, StepOrder& order, Usage&) {
         order = {0, 2, 1, 3, 4, 5, 6, 7};
       },
       {"schedule: op 2 (gather-done) at position 1: its start op 1 "
        "(gather-start) at position 2 stands after it"}},
      {"two dones of one start",
       OrderRule::kPairs,
       [](AbstractStep& step, StepOrder&, Usage&) { step.ops[5].of = 1; },
       {"schedule: op 5 (reduce-done) at position 5: is the second done of op "
        "1 (gather-start), after op 2 (gather-done)",
        "schedule: op 4 (reduce) at position 4: has no done"}},
      {"a done of another computation",
       OrderRule::kPairs,
       [](AbstractStep& step, StepOrder&, Usage&) { step.ops[5].of = 40; },
       {"schedule: op 5 (reduce-done) at position 5: its start, op 40, is no "
        "start of this computation",
        "schedule: op 4 (reduce) at position 4: has no done"}},
      {"two in flight, one allowed",
       OrderRule::kInFlight,
       [](AbstractStep& step, StepOrder& order, Usage&) {
         step.ops[4].deps = {};
         order = {0, 1, 4, 2, 3, 5, 6, 7};
       },
       {"schedule: op 4 (reduce) at position 2: 2 transfers in flight on ici_x "
        "exceed the limit 1"}},
      {"more memory than the limit",
       OrderRule::kMemory,
       [](AbstractStep& step, StepOrder&, Usage&) {
         step.memory_limit = Bytes(66 * kMiB);
       },
       {"schedule: op 3 (matmul) at position 3: memory 70 MiB exceeds the "
        "limit "
        "66 MiB by 4 MiB; largest live: op 1 (gather-start) 64 MiB, op 0 "
        "(embed) 4 MiB, op 3 (matmul) 2 MiB"}},
      {"another usage than annotated",
       OrderRule::kMemory,
       [](AbstractStep&, StepOrder&, Usage& usage) {
         usage[4] = Bytes(3 * kMiB / 2);
       },
       {"schedule: op 4 (reduce) at position 4: annotated with 1.5 MiB, uses 7 "
        "MiB"}},
      {"too few annotations",
       OrderRule::kMemory,
       [](AbstractStep&, StepOrder&, Usage& usage) { usage.pop_back(); },
       {"schedule: memory of 7 positions; expected 8"}},
      {"a read after a buffer was taken over",
       OrderRule::kDonors,
       [](AbstractStep& step, StepOrder& order, Usage&) {
         step.ops[6].deps = {0};
         step.ops[7].ctrl = {};
         order = {0, 1, 2, 6, 3, 4, 5, 7};
       },
       {"schedule: op 3 (matmul) at position 4: reads the result of op 0 "
        "(embed), which op 6 (update) at position 3 has taken over"}},
      {"a start still reads when its operand is taken over",
       OrderRule::kDonors,
       [](AbstractStep& step, StepOrder& order, Usage&) {
         step.ops[4].deps = {0};
         step.ops[3].deps = {2};
         step.ops[6].deps = {0, 3};
         step.ops[6].ctrl = {};
         step.ops[7].ctrl = {};
         order = {0, 1, 2, 3, 4, 6, 5, 7};
       },
       {"schedule: op 5 (reduce-done) at position 6: reads the result of op 0 "
        "(embed), which op 6 (update) at position 5 has taken over"}},
      {"a buffer taken over twice",
       OrderRule::kDonors,
       [](AbstractStep& step, StepOrder&, Usage&) {
         step.ops[3].alias = 0;
         step.ops[6].deps = {5};
       },
       {"schedule: op 6 (update) at position 6: takes over the buffer of op 0 "
        "(embed) as op 3 (matmul) at position 3 does"}},
      {"an output that is written over",
       OrderRule::kOutputs,
       [](AbstractStep& step, StepOrder&, Usage&) {
         step.outputs = {0, 7};
       },
       {"schedule: op 0 (embed) at position 0: is an output, but op 6 (update) "
        "at position 6 takes over its buffer"}},
      {"an output that does not exist",
       OrderRule::kOutputs,
       [](AbstractStep& step, StepOrder&, Usage&) { step.outputs = {12}; },
       {"schedule: op 12: is an output but does not exist"}},
      {"an unknown resource",
       OrderRule::kResources,
       [](AbstractStep& step, StepOrder&, Usage&) {
         step.ops[1].use[0].resource = 5;
       },
       {"schedule: op 1 (gather-start) at position 1: resource 5 does not "
        "exist; known: tc, ici_x, hbm"}},
      {"a limit of an unknown resource",
       OrderRule::kResources,
       [](AbstractStep& step, StepOrder&, Usage&) {
         step.in_flight[0].resource = 3;
       },
       {"schedule: in-flight limit 1: resource 3 does not exist; known: tc, "
        "ici_x, hbm"}},
      {"a compute in a queue",
       OrderRule::kResources,
       [](AbstractStep& step, StepOrder&, Usage&) {
         step.ops[3].use[0].resource = 1;
       },
       {"schedule: op 3 (matmul) at position 3: ici_x is a queue of transfers; "
        "only a start or sync may use it"}},
      {"more than there is",
       OrderRule::kResources,
       [](AbstractStep& step, StepOrder&, Usage&) {
         step.ops[3].use[0].share = 1.25;
       },
       {"schedule: op 3 (matmul) at position 3: share 1.25 of hbm; expected "
        "above 0, at most 1"}},
  };
}

std::vector<std::string> TextsOf(const OrderViolations& violations) {
  std::vector<std::string> texts;
  for (const OrderViolation& v : violations) texts.push_back(v.text);
  return texts;
}

TEST_CASE("Each broken rule of an order has its message", "[step]") {
  const AbstractStep legal = LegalStep();
  const StepOrder in_order = ProgramOrder(legal);
  const std::vector<Bytes> usage = MemoryModel(legal).Usage(in_order);
  REQUIRE(VerifyOrder(legal, in_order, usage).empty());
  for (const Mutation& mutation : Mutations()) {
    INFO(mutation.what);
    AbstractStep step = legal;
    StepOrder order = in_order;
    std::vector<Bytes> annotated = usage;
    mutation.apply(step, order, annotated);
    // Other orders and steps use other amounts.
    const bool memory = mutation.rule == OrderRule::kMemory;
    const OrderViolations violations =
        VerifyOrder(step, order, memory ? annotated : std::vector<Bytes>());
    CHECK(TextsOf(violations) == mutation.texts);
    for (const OrderViolation& v : violations) CHECK(v.rule == mutation.rule);
  }
}

TEST_CASE("A sync counts as in flight, a finished pair does not", "[step]") {
  StepBuilder b;
  const std::uint32_t x = b.Fifo("ici_x");
  const std::uint32_t y = b.Fifo("ici_y");
  b.Done(b.Start(0, 1, {{x, 1}}));
  const std::uint32_t open = b.Start(0, 1, {{x, 1}, {y, 1}});
  const std::uint32_t sync = b.Sync(0, 1, {{y, 1}});
  const std::uint32_t elsewhere = b.Sync(0, 1, {});
  b.Done(open);
  b.step.in_flight = {{.resource = x}, {.resource = y}};
  const OrderViolations violations = VerifyOrder(b.step, ProgramOrder(b.step));
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].op == sync);
  CHECK(violations[0].op != elsewhere);
  // Counted in the order, not in time: the first transfer of 0 s is over.
  AbstractStep instant = b.step;
  instant.ops[open].work = Seconds(0);
  CHECK(VerifyOrder(instant, ProgramOrder(instant)).size() == 1);
}

TEST_CASE("A sync is no longer in flight after it", "[step]") {
  StepBuilder b;
  const std::uint32_t x = b.Fifo("ici_x");
  b.Sync(0, 1, {{x, 1}});
  b.Sync(0, 1, {{x, 1}});
  b.Done(b.Start(0, 1, {{x, 1}}));
  b.step.in_flight = {{.resource = x, .most = 1}};
  CHECK(VerifyOrder(b.step, ProgramOrder(b.step)).empty());
}

TEST_CASE("A buffer cannot be taken over while others must still read it",
          "[step]") {
  StepBuilder b;
  const std::uint32_t donor = b.Compute(1, {}, 1);
  const std::uint32_t taker = b.Compute(1, {donor});
  b.Compute(1, {donor, taker});
  b.step.ops[taker].alias = donor;
  const OrderViolations violations = VerifyOrder(b.step, ProgramOrder(b.step));
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].rule == OrderRule::kDonors);
}

// Two iterations of a gather and its matmul.
LoopStep GatherLoop() {
  StepBuilder b;
  const std::uint32_t axis = b.Fifo("ici_x");
  const std::uint32_t done = b.Done(b.Start(0, 1, {{axis, 1}}, {}, kMiB));
  b.Compute(1, {done}, 3 * kMiB);
  b.step.ops[2].name = "matmul";
  return {.body = b.step,
          .trip = 2,
          .carries = {{.from = 2, .to = 2, .entering = Bytes(3 * kMiB)}}};
}

TEST_CASE("What a loop carries has one size and no open transfer", "[step]") {
  LoopStep loop = GatherLoop();
  CHECK(VerifyLoop(loop).empty());
  loop.carries[0].entering = Bytes(2 * kMiB);
  loop.carries.push_back({.from = 0, .to = 2});
  const OrderViolations violations = VerifyLoop(loop);
  CHECK(TextsOf(violations) ==
        std::vector<std::string>{
            "schedule: op 2 (matmul): carries 3 MiB into the next iteration of "
            "op 2 (matmul), where 2 MiB enter the loop",
            "schedule: op 0: is carried into another iteration without its "
            "done"});
  CHECK(violations[0].rule == OrderRule::kCarries);
  CHECK(violations[1].rule == OrderRule::kIterations);
}

TEST_CASE("Pairs cross iterations only in a pipelined loop", "[step]") {
  const LoopStep loop = GatherLoop();
  CHECK(VerifyIterations(loop, StepOrder{0, 1, 2, 3, 4, 5}).empty());
  // The compute of iteration 0 after iteration 1 has begun crosses no pair.
  CHECK(VerifyIterations(loop, StepOrder{0, 1, 3, 4, 2, 5}).empty());
  const StepOrder pipelined = {0, 1, 3, 2, 4, 5};
  CHECK(TextsOf(VerifyIterations(loop, pipelined)) ==
        std::vector<std::string>{
            "schedule: op 1 of iteration 1 at position 4: op 2 (matmul) of "
            "iteration 0 stands between it and its start at position 2; pairs "
            "may cross iterations only in a pipelined loop"});
}

TEST_CASE("Chips that meet must issue their collectives in one order",
          "[step]") {
  const IssuedCollective a = {.name = "a", .members = {0, 1}};
  const IssuedCollective b = {.name = "b", .members = {0, 1, 2}};
  const IssuedCollective c = {.name = "c", .members = {1, 2}};
  CHECK(VerifyCollectiveOrders({}).empty());
  CHECK(VerifyCollectiveOrders({{a, b}, {a, c, b}, {c, b}}).empty());
  const OrderViolations inverted =
      VerifyCollectiveOrders({{a, b}, {a, b, c}, {c, b}});
  CHECK(TextsOf(inverted) ==
        std::vector<std::string>{
            "schedule: deadlock: chip 1 issues b (position 1) before c "
            "(position 2), chip 2 issues c (position 0) before b (position "
            "1)"});
  CHECK(inverted[0].rule == OrderRule::kDeadlock);
  CHECK(TextsOf(VerifyCollectiveOrders({{a, b}, {a, b, c}, {b}})) ==
        std::vector<std::string>{
            "schedule: deadlock: chip 1 issues c (position 2), its member chip "
            "2 never does"});
}

}  // namespace
}  // namespace podsim
