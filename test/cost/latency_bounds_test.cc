// Bounds that couple hops with bytes or with issues: the oracle's values, an
// exhaustive search of small broadcasts, and formulas.
#include "cost/latency_bounds.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <utility>

#include "collective/groups.h"
#include "collective/lowering.h"
#include "cost/bounds.h"
#include "engine/engine.h"
#include "test/support/golden_case.h"
#include "test/support/lowered.h"
#include "topology/distance.h"

namespace podsim {
namespace {

std::map<std::string, double> ByName(const Bounds& bounds) {
  std::map<std::string, double> seconds;
  for (const BoundComponent& component : bounds.components) {
    CHECK(seconds.count(component.name) == 0);
    seconds[component.name] = component.time.value();
  }
  return seconds;
}

// ---- the oracle ---------------------------------------------------------

// Bounds do not depend on the lowering: all rows count, also those of lowerings
// that the table lacks.
TEST_CASE("all 427 golden rows of small payloads have the oracle's components",
          "[cost][oracle]") {
  std::ifstream file(PODSIM_TEST_DATA "/golden_latency.json");
  const auto golden = nlohmann::json::parse(file);
  int rows = 0;
  for (const nlohmann::json& test : golden["cases"]) {
    CAPTURE(test["id"].get<std::string>(), test["topology"].dump());
    Slice slice = MakeCaseSlice(test);
    slice.parameters.ici_issue = Seconds(test["issue_s"].get<double>());
    const Bounds bounds = ComputeBounds(MakeCaseCollective(test, slice), slice);
    const auto found = ByName(bounds);
    const auto expected = test["bound"].get<std::map<std::string, double>>();
    CHECK(found.size() == expected.size());
    for (const auto& [name, seconds] : expected) {
      CAPTURE(name, seconds);
      REQUIRE(found.count(name) == 1);
      CHECK(Near(found.at(name), seconds));
    }
    CHECK(Near(bounds.binding().time.value(), test["bound_s"].get<double>()));
    CHECK(bounds.binding().time.value() <=
          test["time_s"].get<double>() * (1 + 1e-9));
    ++rows;
  }
  CHECK(rows == 427);
}

// ---- issue --------------------------------------------------------------

// The earliest date at which all chips are informed, over all orders in which
// informed chips send to others, straight to them: every way to grow the tree.
class BestBroadcast {
 public:
  BestBroadcast(const MessageCost& cost, std::vector<std::vector<int>> hops)
      : cost_(cost), hops_(std::move(hops)), free_(hops_.size()) {}

  double From(int root) {
    informed_ = {root};
    free_[root] = 0;
    Grow(0);
    return best_;
  }

 private:
  void Grow(double latest) {
    if (informed_.size() == hops_.size()) best_ = std::min(best_, latest);
    const std::vector<int> senders = informed_;
    for (const int from : senders) {
      for (int to = 0; to < static_cast<int>(hops_.size()); ++to) {
        if (std::count(senders.begin(), senders.end(), to) > 0) continue;
        const double issued = free_[from] + cost_.issue;
        const double arrival =
            issued + cost_.overhead + hops_[from][to] * cost_.alpha;
        const double before = std::exchange(free_[from], issued);
        free_[to] = arrival;
        informed_.push_back(to);
        Grow(std::max(latest, arrival));
        informed_.pop_back();
        free_[from] = before;
      }
    }
  }

  MessageCost cost_;
  std::vector<std::vector<int>> hops_;
  std::vector<double> free_;  // end of the last issue, s
  std::vector<int> informed_;
  double best_ = std::numeric_limits<double>::infinity();
};

MessageCost RandomCost(Random& random) {
  const auto some = [&] {
    return random.OneIn(4) ? 0 : random.Decades(-7, -5);
  };
  return {.issue = random.Decades(-7, -5), .overhead = some(), .alpha = some()};
}

TEST_CASE("issue is the best broadcast where all chips are neighbours",
          "[cost][property]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const int n = random.Int(2, 6);
    const MessageCost cost = RandomCost(random);
    CAPTURE(seed, n, cost.issue, cost.overhead, cost.alpha);
    std::vector<std::vector<int>> hops(n, std::vector<int>(n, 1));
    const double best = BestBroadcast(cost, hops).From(0);
    CHECK(Near(IssueSeconds(cost, {{1, n - 1.0}}), best));
  }
}

TEST_CASE("no broadcast beats issue on rings, lines and meshes",
          "[cost][property]") {
  double closest = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const Shape shape = random.Pick(
        std::vector<Shape>{{2}, {3}, {4}, {5}, {6}, {2, 2}, {2, 3}});
    const Slice slice = MakeGridOf(shape, RandomWrap(random, shape));
    const int n = slice.topology.chips();
    const int root = random.Int(0, n - 1);
    const MessageCost cost = RandomCost(random);
    CAPTURE(seed, slice.spec, root, cost.issue, cost.overhead, cost.alpha);
    std::vector<std::vector<int>> hops;
    for (int id = 0; id < n; ++id) {
      hops.push_back(HopsFrom(slice.topology, ChipId(id)));
    }
    const double best = BestBroadcast(cost, hops).From(root);
    const double bound = IssueSeconds(
        cost, SpreadOf(hops[root], std::vector<int>(n), /*which=*/0));
    CHECK(bound <= best * (1 + 1e-9));
    closest = std::max(closest, bound / best);
  }
  CHECK(closest > 1 - 1e-9);
}

TEST_CASE("issue of P chips that are all near: rounds of one or two messages",
          "[cost]") {
  // g = 1, o = alpha = 0: 2^T - 1 chips by date T. With o beyond all issues one
  // round: P - 1 messages.
  const MessageCost only_issue{.issue = 1, .overhead = 0, .alpha = 0};
  CHECK(Near(IssueSeconds(only_issue, {{1, 1023}}), 10));
  CHECK(Near(IssueSeconds(only_issue, {{1, 1024}}), 11));
  const MessageCost slow_start{.issue = 1, .overhead = 1e4, .alpha = 0};
  CHECK(Near(IssueSeconds(slow_start, {{1, 1023}}), 1e4 + 1023));
  // A pod, no issue cost: the hops alone.
  CHECK(Near(IssueSeconds({.issue = 0, .overhead = 2, .alpha = 3},
                          {{1, 9215}, {32, 1}}),
             2 + 32 * 3));
}

TEST_CASE("spreads by axes are those of a search", "[cost][property]") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 48);
    const Slice slice = MakeGridOf(shape, RandomWrap(random, shape));
    const int n = slice.topology.chips();
    const ChipId from(static_cast<std::uint32_t>(random.Int(0, n - 1)));
    CAPTURE(seed, slice.spec, from.value());
    const Spread by_axes = SpreadOnAxes(slice.topology, AllAxes(slice.topology),
                                        slice.topology.CoordinatesOf(from));
    const Spread searched = SpreadOf(HopsFrom(slice.topology, from),
                                     std::vector<int>(n), /*which=*/0);
    REQUIRE(by_axes.size() == searched.size());
    for (std::size_t k = 0; k < by_axes.size(); ++k) {
      CHECK(by_axes[k].hops == searched[k].hops);
      CHECK(by_axes[k].members == searched[k].members);
    }
  }
}

// ---- horizon ------------------------------------------------------------

TEST_CASE("horizon is the best budget of hops", "[cost]") {
  for (const double transfer : {0.0, 0.1, 1.0, 7.0, 1e4}) {
    for (int n = 3; n <= 70; ++n) {
      CAPTURE(transfer, n);
      const MessageCost cost{.issue = 0.5, .overhead = 2, .alpha = 1};
      double best = 0;
      for (int budget = n / 2; budget <= n - 2; ++budget) {
        const double times =
            std::ceil((n - 1.0 - budget) / (2.0 * budget - n + 2));
        best = std::max(best,
                        std::min(2.5 + budget + 1, 2.5 + 1 + times * transfer));
      }
      CHECK(Near(HorizonSeconds(cost, n, transfer), best));
    }
  }
}

// ---- which apply, and that nothing beats them ---------------------------

TEST_CASE("ranks without a byte need no chain of messages", "[cost]") {
  const Slice slice = MakeTorus({8}, {.alpha = 1e-6});
  for (const CollectiveKind kind :
       {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
        CollectiveKind::kAllToAll}) {
    const auto names = [&](std::int64_t bytes) {
      return ByName(ComputeBounds(OnAllChips(kind, bytes, slice), slice));
    };
    CHECK(names(7).count("issue") == 0);
    CHECK(names(8).count("issue") == 1);
  }
  const auto reduce = ByName(
      ComputeBounds(OnAllChips(CollectiveKind::kAllReduce, 1, slice), slice));
  CHECK(reduce.count("issue") == 1);
}

TEST_CASE("a corner is the worst chip of a plain grid", "[cost][property]") {
  // Listed groups are searched chip by chip.
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 48);
    Slice slice = MakeGridOf(shape, RandomWrap(random, shape),
                             {.bandwidth = 1e9, .alpha = 1e-6});
    slice.parameters.ici_issue = Seconds(random.Decades(-8, -5));
    Collective by_axes{
        .kind = random.Pick(std::vector<CollectiveKind>{
            CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
            CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll}),
        .payload = Bytes(5040),
        .axes = random.Pick(AllAxisSubsets(shape.size()))};
    if (GroupSize(by_axes, slice.topology) == 1) continue;
    Collective listed = by_axes;
    listed.groups = GroupsOf(by_axes, slice.topology);
    listed.axes.clear();
    CAPTURE(seed, slice.spec, ToText(by_axes.kind), by_axes.axes);
    const auto quick = ByName(ComputeBounds(by_axes, slice));
    const auto searched = ByName(ComputeBounds(listed, slice));
    for (const char* name : {"front", "issue"}) {
      CAPTURE(name);
      CHECK(Near(quick.at(name), searched.at(name)));
    }
  }
}

bool IsConnected(const Topology& topology) {
  for (const auto& hops :
       {HopsFrom(topology, ChipId(0)), HopsTo(topology, ChipId(0))}) {
    if (std::count(hops.begin(), hops.end(), kUnreachable) > 0) return false;
  }
  return true;
}

TEST_CASE("no simulated lowering beats front, issue and horizon",
          "[cost][property]") {
  int simulated = 0;
  std::map<std::string, double> closest;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(random, 2, 16);
    Slice slice =
        MakeGridOf(shape, RandomWrap(random, shape),
                   {.bandwidth = 1e9,
                    .alpha = random.OneIn(4) ? 0 : random.Decades(-8, -5),
                    .overhead = random.OneIn(4) ? 0 : random.Decades(-8, -5)});
    slice.parameters.ici_issue =
        Seconds(random.OneIn(4) ? 0 : random.Decades(-8, -5));
    const LinkId link(static_cast<unsigned>(
        random.Int(0, static_cast<int>(slice.topology.link_ids()) - 1)));
    if (random.OneIn(3) && slice.topology.Exists(link)) {
      if (random.OneIn(2)) {
        slice.topology.Degrade(link, 0.5);
      } else {
        slice.topology.Kill(link);  // one way only
      }
    }
    if (!IsConnected(slice.topology)) continue;
    Collective collective{
        .kind = random.Pick(std::vector<CollectiveKind>{
            CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
            CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll,
            CollectiveKind::kBroadcast}),
        .payload = Bytes(0),
        .axes = random.Pick(AllAxisSubsets(shape.size()))};
    const int n = GroupSize(collective, slice.topology);
    collective.payload =
        Bytes(n * static_cast<std::int64_t>(random.Decades(0, 5)));
    if (collective.kind == CollectiveKind::kBroadcast) {
      collective.root = ChipId(static_cast<std::uint32_t>(
          random.Int(0, slice.topology.chips() - 1)));
    }
    const auto bounds = ByName(ComputeBounds(collective, slice));
    for (const LoweringSpec& spec : SpecsForAuto()) {
      if (WhyNot(spec, collective, slice.topology)) continue;
      CAPTURE(seed, slice.spec, ToText(spec, collective, slice.topology),
              ToText(collective.kind), collective.axes,
              collective.payload.value());
      const double time = RunPod(MakeWhole(slice, spec, collective).schedule,
                                 MakeNetwork(slice))
                              .makespan;
      for (const auto& [name, seconds] : bounds) {
        CAPTURE(name, seconds, time);
        CHECK(time >= seconds * (1 - 1e-9));
        if (time > 0) {
          closest[name] = std::max(closest[name], seconds / time);
        }
      }
      ++simulated;
    }
  }
  CHECK(simulated > 800);
  // They are not idle.
  CHECK(closest["front"] > 0.999);
  CHECK(closest["issue"] > 0.999);
  CHECK(closest["horizon"] > 0.4);
}

}  // namespace
}  // namespace podsim
