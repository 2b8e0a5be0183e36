// Max-min fair rates, by the law that makes them unique: every flow has a link
// that is full and on which no flow is faster.
#include "engine/max_min_rates.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "test/support/random_slices.h"

namespace podsim {
namespace {

constexpr double kTolerance = 1e-11;  // relative

Network Links(std::uint32_t links) {
  return {.links = links,
          .bandwidth = 100,
          .link_bandwidth = {},
          .link_latency = {}};
}

using Routes = std::map<std::uint32_t, std::vector<LinkId>>;  // by flow

void CheckFair(const MaxMinRates& rates, const Routes& routes,
               const std::vector<double>& bandwidth) {
  std::vector<double> carried(bandwidth.size()), fastest(bandwidth.size());
  for (const auto& [flow, route] : routes) {
    for (const LinkId link : route) {
      carried[link.value()] += rates.rate(flow);
      fastest[link.value()] = std::max(fastest[link.value()], rates.rate(flow));
    }
  }
  for (std::size_t link = 0; link < bandwidth.size(); ++link) {
    CAPTURE(link, carried[link], bandwidth[link]);
    CHECK(carried[link] <= bandwidth[link] * (1 + kTolerance));
  }
  for (const auto& [flow, route] : routes) {
    CAPTURE(flow, rates.rate(flow));
    CHECK(std::any_of(route.begin(), route.end(), [&](LinkId link) {
      return carried[link.value()] >=
                 bandwidth[link.value()] * (1 - kTolerance) &&
             rates.rate(flow) >= fastest[link.value()] * (1 - kTolerance);
    }));
  }
}

TEST_CASE("a flow on a free link has all of it", "[engine][max-min]") {
  MaxMinRates rates(Links(3));
  const std::vector<LinkId> route = {LinkId(0), LinkId(1), LinkId(2)};
  const std::uint32_t flow = rates.Add(route);
  REQUIRE(rates.Solve().size() == 1);
  CHECK(rates.rate(flow) == 100);
  CHECK(rates.Solve().empty());
}

TEST_CASE("the parking lot: the long flow is stopped where most flow",
          "[engine][max-min]") {
  // One over links 0..2, one more on each, two more on link 1.
  MaxMinRates rates(Links(3));
  const std::vector<LinkId> all = {LinkId(0), LinkId(1), LinkId(2)};
  const std::uint32_t far = rates.Add(all);
  std::vector<std::uint32_t> near;
  for (std::size_t k = 0; k < 3; ++k) {
    near.push_back(rates.Add(std::span(all).subspan(k, 1)));
  }
  const std::uint32_t second = rates.Add(std::span(all).subspan(1, 1));
  const std::uint32_t third = rates.Add(std::span(all).subspan(1, 1));
  rates.Solve();
  CHECK(rates.rate(far) == 25);
  CHECK(rates.rate(near[0]) == 75);
  CHECK(rates.rate(near[1]) == 25);
  CHECK(rates.rate(near[2]) == 75);
  // Without the two all links are halved.
  rates.Remove(second);
  rates.Remove(third);
  CHECK(rates.Solve().size() == 4);
  for (const std::uint32_t flow : near) CHECK(rates.rate(flow) == 50);
  CHECK(rates.rate(far) == 50);
  // A slower link holds the long flow back; the others take what it leaves.
  rates.SetBandwidth(LinkId(2), 20);
  CHECK(rates.Solve().size() == 4);
  CHECK(rates.rate(far) == 10);
  CHECK(rates.rate(near[0]) == 90);
  CHECK(rates.rate(near[2]) == 10);
  rates.Remove(far);
  CHECK(rates.Solve().size() == 3);
  CHECK(rates.rate(near[2]) == 20);
}

TEST_CASE("rates count a link twice that a route names twice",
          "[engine][max-min]") {
  MaxMinRates rates(Links(1));
  const std::vector<LinkId> twice = {LinkId(0), LinkId(0)}, once = {LinkId(0)};
  const std::uint32_t there_and_back = rates.Add(twice);
  rates.Solve();
  CHECK(rates.rate(there_and_back) == 50);
  const std::uint32_t other = rates.Add(once);
  rates.Solve();
  CHECK(rates.rate(there_and_back) == Approx(100.0 / 3));
  CHECK(rates.rate(other) == Approx(100.0 / 3));
}

// Comes and goes at random; what it returns are exactly the rates that changed.
TEST_CASE("rates are fair whoever comes and goes", "[engine][max-min][fuzz]") {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const int links = random.Int(1, 40);
    const int most_hops = random.Int(1, 6);
    const bool rough = random.OneIn(2);  // links of very different rates
    Network network = Links(static_cast<std::uint32_t>(links));
    for (int link = 0; link < links; ++link) {
      network.link_bandwidth.push_back(
          rough ? static_cast<double>(random.Between(1, 1'000'000)) : 100.0);
    }
    std::vector<double> bandwidth = network.link_bandwidth;
    MaxMinRates rates(network);
    Routes routes;
    std::map<std::uint32_t, double> before;
    for (int step = 0; step < 150; ++step) {
      CAPTURE(step);
      for (int k = random.Int(0, 3); k > 0 && !routes.empty(); --k) {
        const auto flow = std::next(
            routes.begin(), random.Int(0, static_cast<int>(routes.size()) - 1));
        rates.Remove(flow->first);
        before.erase(flow->first);
        routes.erase(flow);
      }
      for (int k = random.OneIn(20) ? 40 : random.Int(0, 3); k > 0; --k) {
        std::vector<LinkId> route;
        for (int hop = random.Int(1, most_hops); hop > 0; --hop) {
          route.push_back(
              LinkId(static_cast<std::uint32_t>(random.Int(0, links - 1))));
        }
        // The route must not move: a map's node does not, a vector's data does
        // not when it is moved.
        const std::uint32_t flow = rates.Add(route);
        routes[flow] = std::move(route);
        before[flow] = 0;
      }
      if (random.OneIn(5)) {
        const int link = random.Int(0, links - 1);
        bandwidth[link] = static_cast<double>(random.Between(1, 1000));
        rates.SetBandwidth(LinkId(static_cast<std::uint32_t>(link)),
                           bandwidth[link]);
      }
      for (const MaxMinRates::Change& change : rates.Solve()) {
        CHECK(change.before == before[change.flow]);
        before[change.flow] = rates.rate(change.flow);
      }
      for (const auto& [flow, rate] : before) CHECK(rates.rate(flow) == rate);
      CheckFair(rates, routes, bandwidth);
    }
  }
}

}  // namespace
}  // namespace podsim
