#include "collective/axis_stage.h"
#include "collective/lowerings.h"

namespace podsim {
namespace {

enum Lane { kPlusLane, kMinusLane, kCoreLane };

std::optional<std::string> WhyNotWindowedMatmul(const Collective& collective,
                                                const Topology& topology,
                                                const LoweringSpec& spec) {
  if (spec.step_compute.value() == 0) {
    return "it needs the duration of one product; give "
           "windowed-matmul:step_compute=10us";
  }
  return WhyNotOneRing(collective, topology, AxisPrimitive::kShort);
}

// One chip of a ring of n: products of c seconds on its core, one at a time,
// beside the transfers of their blocks.
class MatmulEmitter {
 public:
  MatmulEmitter(const Collective& collective, int axis, int size,
                const LoweringSpec& spec)
      : axis_(axis),
        size_(size),
        compute_(spec.step_compute),
        builder_(
            {.fractions = {}, .halves = spec.bidirectional && size % 2 == 0},
            FlowOf(collective.kind), collective.axes) {}

  // Shards go round; each is multiplied when it arrives, own first.
  void Gather() {
    std::vector<After> arrived;
    for (int step = 0; step < size_; ++step) {
      Product(arrived);
      if (step + 1 == size_) break;
      const StepId sent =
          Send(Sign::kPlus, -step, Half::kBoth, Mode::kCopy, arrived);
      arrived = {{sent, true}};
    }
  }

  // Shards come the shorter way, those at the same distance in pairs.
  void GatherBothWays() {
    Product({});
    std::vector<After> from_behind, from_ahead;
    for (int step = 0; step < size_ / 2; ++step) {
      const bool last = 2 * (step + 1) == size_;
      from_behind = {
          {Send(Sign::kPlus, -step, last ? Half::kFirst : Half::kBoth,
                Mode::kCopy, from_behind),
           true}};
      from_ahead = {
          {Send(Sign::kMinus, step, last ? Half::kSecond : Half::kBoth,
                Mode::kCopy, from_ahead),
           true}};
      if (last) {
        Product({from_behind[0], from_ahead[0]});
      } else {
        Product(from_behind);
        Product(from_ahead);
      }
    }
  }

  // Sums go round, the block of the chip behind first; each leaves when the
  // local product is ready and what arrived is in it. Own block last.
  void Scatter() {
    std::vector<After> arrived;
    for (int step = 0; step + 1 < size_; ++step) {
      std::vector<After> ready = arrived;
      ready.push_back(Product({}));
      const StepId sent =
          Send(Sign::kPlus, -1 - step, Half::kBoth, Mode::kReduce, ready);
      arrived = {{sent, true}};
    }
    Product({});
  }

  // The farthest block first, each the shorter way.
  void ScatterBothWays() {
    std::vector<After> from_behind, from_ahead;
    for (int hops = size_ / 2; hops > 0; --hops) {
      const bool farthest = 2 * hops == size_;
      std::vector<After> forward = from_behind, backward = from_ahead;
      forward.push_back(Product({}));
      backward.push_back(farthest ? forward.back() : Product({}));
      from_behind = {
          {Send(Sign::kPlus, hops, farthest ? Half::kFirst : Half::kBoth,
                Mode::kReduce, forward),
           true}};
      from_ahead = {
          {Send(Sign::kMinus, -hops, farthest ? Half::kSecond : Half::kBoth,
                Mode::kReduce, backward),
           true}};
    }
    Product({});
  }

  Program Build() && { return std::move(builder_).Build(); }

 private:
  After Product(const std::vector<After>& after) {
    return {builder_.Compute(kCoreLane, compute_, after), false};
  }

  StepId Send(Sign sign, int block, Half half, Mode mode,
              const std::vector<After>& after) {
    OwnerBox owner;
    owner.lo[axis_] = block;
    return builder_.Send(sign == Sign::kPlus ? kPlusLane : kMinusLane, axis_,
                         sign, builder_.Pattern(owner, 0, half), mode, after);
  }

  int axis_;
  int size_;
  Seconds compute_;
  ProgramBuilder builder_;
};

Program LowerWindowedMatmul(const Collective& collective,
                            const Topology& topology,
                            const LoweringSpec& spec) {
  const std::vector<int> active = ActiveAxes(collective, topology);
  const int axis = active.empty() ? 0 : active[0];
  const int size = active.empty() ? 1 : topology.axes()[axis].size;
  MatmulEmitter emitter(collective, axis, size, spec);
  if (collective.kind == CollectiveKind::kAllGather) {
    spec.bidirectional ? emitter.GatherBothWays() : emitter.Gather();
  } else {
    spec.bidirectional ? emitter.ScatterBothWays() : emitter.Scatter();
  }
  return std::move(emitter).Build();
}

}  // namespace

// A collective einsum: the ring of an all-gather with a product of every shard
// as it arrives, or of a reduce-scatter with a product of every block before it
// leaves, so that one hides the other. x = a + S/(nB) is a step of the ring.
Lowering WindowedMatmulLowering() {
  return {.name = "windowed-matmul",
          .help = "a ring with a matrix product per shard beside it",
          .parameters = {"step_compute", "bidirectional"},
          .kinds = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter},
          .preconditions = "one wrapped axis; step_compute=c, of one product",
          .time = "max(nc, (n-1)x + c), x = a + S/(nB), one direction",
          .source =
              "Wang et al., \"Overlap communication with dependent "
              "computation via decomposition\", ASPLOS 2023",
          .why_not = WhyNotWindowedMatmul,
          .lower = LowerWindowedMatmul,
          .one_hop = true};
}

}  // namespace podsim
