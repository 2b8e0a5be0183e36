#include "engine/event_queue.h"

#include <catch2/catch.hpp>
#include <map>
#include <queue>
#include <set>

#include "test/support/random_slices.h"

namespace podsim {
namespace {

struct Later {
  bool operator()(const Event& a, const Event& b) const {
    return a.date > b.date || (a.date == b.date && a.id > b.id);
  }
};
using Oracle = std::priority_queue<Event, std::vector<Event>, Later>;

TEST_CASE("a FIFO gives back what was pushed, across growth and wraparound",
          "[engine]") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    EventFifo fifo;
    std::queue<std::uint32_t> oracle;
    std::uint32_t next = 0;
    for (int k = 0; k < 2000; ++k) {
      if (oracle.empty() || random.Int(0, 9) < (k < 1000 ? 7 : 3)) {
        fifo.Push({static_cast<double>(next), next, next});
        oracle.push(next);
        ++next;
        REQUIRE(fifo.back().id == next - 1);
      } else {
        REQUIRE(fifo.front().id == oracle.front());
        fifo.Pop();
        oracle.pop();
      }
      REQUIRE(fifo.empty() == oracle.empty());
    }
  }
}

// Dates mostly after the last one, with ties, and some far behind or ahead.
double NextDate(Random& random, double now) {
  switch (random.Int(0, 5)) {
    case 0:
      return now;
    case 1:
      return now + random.Int(0, 3);
    case 2:
      return now + 100 * random.Unit();
    case 3:
      return std::max(0.0, now - random.Int(0, 20));
    default:
      return now + random.Unit();
  }
}

TEST_CASE("the event queue pops by date, then id, as std::priority_queue",
          "[engine][oracle]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    EventQueue queue;
    Oracle oracle;
    double now = 0;
    std::vector<std::uint32_t> ids(3000);
    for (std::uint32_t k = 0; k < ids.size(); ++k) ids[k] = k;
    random.Shuffle(ids);
    const int pushes_of_ten = random.Int(4, 8);
    for (const std::uint32_t id : ids) {
      if (oracle.empty() || random.Int(1, 10) <= pushes_of_ten) {
        now = NextDate(random, now);
        const Event event{now, id, id + 1};
        queue.Push(event);
        oracle.push(event);
      } else {
        REQUIRE(queue.top().date == oracle.top().date);
        REQUIRE(queue.top().id == oracle.top().id);
        REQUIRE(queue.top().version == oracle.top().version);
        now = std::max(now, oracle.top().date);
        queue.Pop();
        oracle.pop();
      }
      REQUIRE(queue.empty() == oracle.empty());
    }
    while (!oracle.empty()) {
      REQUIRE(queue.top().date == oracle.top().date);
      REQUIRE(queue.top().id == oracle.top().id);
      queue.Pop();
      oracle.pop();
    }
    REQUIRE(queue.empty());
  }
}

TEST_CASE("an event queue takes pushes in any order", "[engine]") {
  EventQueue queue;
  for (const std::uint32_t id : {5U, 4U, 3U, 2U, 1U, 0U}) {
    queue.Push({1.0, id, 0});  // one date, ids falling
  }
  queue.Push({0.5, 9, 0});
  std::vector<std::uint32_t> order;
  for (; !queue.empty(); queue.Pop()) order.push_back(queue.top().id);
  CHECK(order == std::vector<std::uint32_t>{9, 0, 1, 2, 3, 4, 5});
}

TEST_CASE("the delay queue pops by date, as std::priority_queue",
          "[engine][oracle]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<double> delays;
    for (int k = random.Int(1, 6); k > 0; --k) {
      // Also equal ones, and none.
      delays.push_back(random.OneIn(2) ? 0.5 * random.Int(0, 3)
                                       : random.Decades(-3, 1));
    }
    DelayQueue queue;
    std::multimap<double, std::uint32_t> oracle;
    double now = 0;
    std::multiset<std::uint32_t> popped;  // of the date `last`
    std::multiset<std::uint32_t> expected;
    double last = -1;
    const auto pop = [&] {
      REQUIRE(queue.top().date == oracle.begin()->first);
      // Of one date, which comes first is up to the queue.
      if (queue.top().date != last) {
        REQUIRE(popped == expected);
        popped.clear();
        expected.clear();
        last = queue.top().date;
      }
      popped.insert(queue.top().id);
      expected.insert(oracle.begin()->second);
      now = std::max(now, queue.top().date);
      queue.Pop();
      oracle.erase(oracle.begin());
    };
    for (std::uint32_t id = 0; id < 2000; ++id) {
      if (oracle.empty() || random.Int(1, 10) <= 6) {
        const double delay = random.Pick(delays);
        queue.Push(queue.ClassOf(delay), now, id);
        oracle.emplace(now + delay, id);
        // A new event may join those of the last date.
      } else {
        pop();
      }
      REQUIRE(queue.empty() == oracle.empty());
    }
    while (!oracle.empty()) pop();
    REQUIRE(popped == expected);
    REQUIRE(queue.empty());
  }
}

TEST_CASE("equal delays share a class", "[engine]") {
  DelayQueue queue;
  const std::size_t first = queue.ClassOf(1e-6);
  CHECK(queue.ClassOf(2e-6) != first);
  CHECK(queue.ClassOf(1e-6) == first);
}

}  // namespace
}  // namespace podsim
