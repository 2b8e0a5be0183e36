#include "topology/fault.h"

#include <catch2/catch.hpp>
#include <set>

#include "test/topology/input.h"
#include "test/topology/reference_graph.h"

namespace podsim {
namespace {

Topology Cube() { return Built(Torus({4, 4, 4})); }

Topology Cables() {
  return Topology::MakeExplicit(4, {{.a = ChipId(0),
                                     .b = ChipId(1),
                                     .bandwidth = BytesPerSecond(90e9),
                                     .latency = Seconds(0)},
                                    {.a = ChipId(3),
                                     .b = ChipId(1),
                                     .bandwidth = BytesPerSecond(90e9),
                                     .latency = Seconds(0)}});
}

std::set<std::string> DeadLinks(const Topology& topology) {
  std::set<std::string> dead;
  for (std::uint32_t id = 0; id < topology.link_ids(); ++id) {
    if (topology.Exists(LinkId(id)) && !topology.Live(LinkId(id))) {
      dead.insert(topology.NameOf(LinkId(id)));
    }
  }
  return dead;
}

std::set<std::string> SlowLinks(const Topology& topology, double rate) {
  std::set<std::string> slow;
  topology.ForEachLiveLink([&](LinkId link) {
    const double full = topology.base_bandwidth().value();
    if (topology.Bandwidth(link).value() == Approx(rate * full)) {
      slow.insert(topology.NameOf(link));
    }
  });
  return slow;
}

std::set<std::string> DeadAfter(Topology topology, const std::string& fault) {
  ApplyFault(fault, "--fault", topology);
  return DeadLinks(topology);
}

using Names = std::set<std::string>;

TEST_CASE("a link fault kills the cable, both directions", "[topology]") {
  CHECK(DeadAfter(Cube(), "link:1,2,3:x+") == Names{"1,2,3:x+", "2,2,3:x-"});
  CHECK(DeadAfter(Cube(), "link:2,2,3:x-") == Names{"1,2,3:x+", "2,2,3:x-"});
  // Over the wrap.
  CHECK(DeadAfter(Cube(), "link:0,0,3:z+") == Names{"0,0,3:z+", "0,0,0:z-"});
  // On a twisted torus the wrap of the short axis ends 4 further along y.
  CHECK(DeadAfter(Built(Torus({4, 8}, true)), "link:3,1:x+") ==
        Names{"3,1:x+", "0,5:x-"});
  CHECK(DeadAfter(Cables(), "link:1-3") == Names{"3-1", "1-3"});
}

TEST_CASE("a oneway fault kills one direction", "[topology]") {
  CHECK(DeadAfter(Cube(), "link:1,2,3:y-:oneway") == Names{"1,2,3:y-"});
  CHECK(DeadAfter(Cables(), "link:1-0:oneway") == Names{"1-0"});
}

TEST_CASE("a fault on two parallel cables hits one of them", "[topology]") {
  const Topology pair = Built(Torus({2}));
  CHECK(DeadAfter(pair, "link:0:x+") == Names{"0:x+", "1:x-"});
  CHECK(DeadAfter(pair, "link:0:x-") == Names{"0:x-", "1:x+"});
}

TEST_CASE("a chip fault kills the chip and its links", "[topology]") {
  Topology topology = Built(Mesh({3, 3}));
  ApplyFault("chip:0,1", "--fault", topology);
  CHECK(!topology.Live(*topology.FindChip("0,1")));
  CHECK(topology.live_chips() == 8);
  CHECK(DeadLinks(topology) ==
        Names{"0,1:x+", "1,1:x-", "0,1:y+", "0,2:y-", "0,1:y-", "0,0:y+"});
  Topology cables = Cables();
  ApplyFault("chip:1", "--fault", cables);
  CHECK(cables.live_chips() == 3);
  CHECK(DeadLinks(cables) == Names{"0-1", "1-0", "3-1", "1-3"});
}

TEST_CASE("a rate leaves the cable alive and slower", "[topology]") {
  Topology topology = Cube();
  ApplyFault("link:0,0,0:y-=50%", "--fault", topology);
  CHECK(DeadLinks(topology).empty());
  CHECK(SlowLinks(topology, 0.5) == Names{"0,0,0:y-", "0,3,0:y+"});
  CHECK(SlowLinks(topology, 1).size() == 64 * 6 - 2);
  ApplyFault("link:1,1,1:x+:oneway=12.5%", "--fault", topology);
  CHECK(SlowLinks(topology, 0.125) == Names{"1,1,1:x+"});
  Topology cables = Cables();
  ApplyFault("link:3-1=25%", "--fault", cables);
  CHECK(SlowLinks(cables, 0.25) == Names{"3-1", "1-3"});
}

TEST_CASE("a full rate is no slower", "[topology]") {
  Topology topology = Cube();
  ApplyFault("link:0,0,0:x+=100%", "--fault", topology);
  CHECK(SlowLinks(topology, 1).size() == 64 * 6);
}

TEST_CASE("faults add up", "[topology]") {
  Topology topology = Cube();
  ApplyFault("link:1,2,3:x+", "--fault", topology);
  ApplyFault("link:1,2,3:x+", "--fault", topology);
  ApplyFault("link:1,2,3:y+:oneway", "--fault", topology);
  CHECK(DeadLinks(topology) == Names{"1,2,3:x+", "2,2,3:x-", "1,2,3:y+"});
}

struct BadFault {
  std::string fault;
  std::string what;  // after the place
};

TEST_CASE("a bad fault says what was found and what was expected",
          "[topology]") {
  const std::string forms =
      "expected link:CHIP:AXIS+ such as link:1,2,3:x+, or chip:1,2,3, got ";
  const std::string bounds = " in this slice; expected coordinates below 4,4,4";
  const std::string direction =
      bounds + " and a direction that has a cable, such as 0,0,0:x+";
  const std::vector<BadFault> table = {
      {"", forms + "\"\""},
      {"1,2,3:x+", forms + "\"1,2,3:x+\""},
      {"cable:1,2,3:x+", forms + "\"cable:1,2,3:x+\""},
      {"Link:1,2,3:x+", forms + "\"Link:1,2,3:x+\""},
      {"chip:", "no chip \"\"" + bounds},
      {"chip:4,0,0", "no chip \"4,0,0\"" + bounds},
      {"chip:1,2", "no chip \"1,2\"" + bounds},
      {"chip:9", "no chip \"9\"" + bounds},
      {"link:1,2,9:x+", "no link \"1,2,9:x+\"" + direction},
      {"link:1,2,3", "no link \"1,2,3\"" + direction},
      {"link:1,2,3:w+", "no link \"1,2,3:w+\"" + direction},
      {"link:1,2,3:x", "no link \"1,2,3:x\"" + direction},
      {"link:1,2:x+", "no link \"1,2:x+\"" + direction},
      {"link:0-1", "no link \"0-1\"" + direction},
      {"link:1,2,3:x+:twoway", "no link \"1,2,3:x+:twoway\"" + direction},
      {"link:1,2,3:x+=0%",
       "expected a rate above 0% and up to 100%, got \"0%\"; leave it out for "
       "a dead link"},
      {"link:1,2,3:x+=101%",
       "expected a rate above 0% and up to 100%, got \"101%\"; leave it out "
       "for a dead link"},
      {"link:1,2,3:x+=50", "\"50\" has no unit; write for example \"50%\""},
      {"link:1,2,3:x+=-5%", "\"-5%\" must not be negative"},
      {"link:1,2,3:x+=45GB/s",
       "\"45GB/s\" has the unknown unit \"GB/s\" (known: %)"},
      {"chip:1,2,3:oneway",
       "a chip fault takes no :oneway and no rate, got \"chip:1,2,3:oneway\""},
      {"chip:1,2,3=50%",
       "a chip fault takes no :oneway and no rate, got \"chip:1,2,3=50%\""},
      {"link:1,2,9:x+@1us", "no link \"1,2,9:x+\"" + direction},
      {"chip:1,2,3=50%@1us",
       "a chip fault takes no :oneway and no rate, got "
       "\"chip:1,2,3=50%@1us\""},
      {"link:1,2,3:x+@-1us", "\"-1us\" must not be negative"},
      {"link:1,2,3:x+@",
       "\"\" is not a number with a unit; write for example \"1us\""},
      {"link:1,2,3:x+@200", "\"200\" has no unit; write for example \"200us\""},
  };
  for (const BadFault& row : table) {
    Topology topology = Cube();
    CHECK(ErrorOf([&] { ApplyFault(row.fault, "here", topology); }) ==
          "here: " + row.what);
    CHECK(topology.healthy());
  }
}

TEST_CASE("the example of a link is one of this very slice", "[topology]") {
  const auto error = [](Topology topology, const std::string& fault) {
    return ErrorOf([&] { ApplyFault(fault, "here", topology); });
  };
  // Where a mesh ends there is no cable.
  CHECK(error(Built(Mesh({2, 3})), "link:1,0:x+") ==
        "here: no link \"1,0:x+\" in this slice; expected coordinates below "
        "2,3 and a direction that has a cable, such as 0,0:x+");
  CHECK(error(Built(Mesh({1, 3})), "link:0:x+") ==
        "here: no link \"0:x+\" in this slice; expected coordinates below 1,3 "
        "and a direction that has a cable, such as 0,0:y+");
  CHECK(error(Built({.axes = {{.size = 4}, {.size = 2, .ici = false}}}),
              "link:1,1:dcn+") ==
        "here: no link \"1,1:dcn+\" in this slice; expected coordinates below "
        "4,2 and a direction that has a cable, such as 0,0:x+");
  CHECK(error(Built(Mesh({1})), "link:0:x+") ==
        "here: no link \"0:x+\" in this slice; expected none, it has no links");
  CHECK(error(Cables(), "link:0-3") ==
        "here: no link \"0-3\" in this slice; expected a cable of the list "
        "such as 0-1");
  CHECK(error(Cables(), "link:0:x+") ==
        "here: no link \"0:x+\" in this slice; expected a cable of the list "
        "such as 0-1");
  CHECK(error(Cables(), "chip:4") ==
        "here: no chip \"4\" in this slice; expected chips 0 to 3");
}

}  // namespace
}  // namespace podsim
