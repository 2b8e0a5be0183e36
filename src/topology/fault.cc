#include "topology/fault.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/parse_units.h"

namespace podsim {
namespace {

struct Fault {
  bool is_chip = false;
  std::string target;  // "1,2,3:x+" or "1,2,3"
  bool oneway = false;
  std::optional<double> rate;  // fraction of the rate that is left
  std::optional<double> date;  // seconds
};

std::string Bounds(const Topology& topology) {
  if (!topology.is_grid()) {
    return "chips 0 to " + std::to_string(topology.chips() - 1);
  }
  std::string text = "coordinates below ";
  for (std::size_t a = 0; a < topology.axes().size(); ++a) {
    if (a > 0) text += ',';
    text += std::to_string(topology.axes()[a].size);
  }
  return text;
}

// What a link of this topology is called, by an example that exists.
std::string ExpectedLink(const Topology& topology) {
  std::uint32_t id = 0;
  while (id < topology.link_ids() && !topology.Exists(LinkId(id))) ++id;
  if (id == topology.link_ids()) return "none, it has no links";
  const std::string example = topology.NameOf(LinkId(id));
  if (!topology.is_grid()) return "a cable of the list such as " + example;
  return Bounds(topology) + " and a direction that has a cable, such as " +
         example;
}

Fault ParseFault(const std::string& text, const std::string& where) {
  Fault fault;
  std::string rest = text;
  if (const auto at = rest.find('@'); at != std::string::npos) {
    fault.date =
        ParseDuration(std::string_view(rest).substr(at + 1), where).value();
    rest.resize(at);
  }
  if (const auto equals = rest.find('='); equals != std::string::npos) {
    if (rest.ends_with(":oneway")) {
      throw InputError(where, "expected :oneway before the rate, such as " +
                                  rest.substr(0, equals) +
                                  ":oneway=50%, got \"" + text + "\"");
    }
    fault.rate = ParsePercent(std::string_view(rest).substr(equals + 1), where);
    if (*fault.rate <= 0 || *fault.rate > 1) {
      throw InputError(where,
                       "expected a rate above 0% and up to 100%, got \"" +
                           rest.substr(equals + 1) +
                           "\"; leave it out for a dead link");
    }
    rest = rest.substr(0, equals);
  }
  if (rest.ends_with(":oneway")) {
    fault.oneway = true;
    rest.resize(rest.size() - 7);
  }
  if (rest.starts_with("chip:")) {
    fault.is_chip = true;
  } else if (!rest.starts_with("link:")) {
    throw InputError(where,
                     "expected link:CHIP:AXIS+ such as link:1,2,3:x+, or "
                     "chip:1,2,3, got \"" +
                         text + "\"");
  }
  fault.target = rest.substr(5);
  if (fault.is_chip && (fault.oneway || fault.rate)) {
    throw InputError(
        where,
        "a chip fault takes no :oneway and no rate, got \"" + text + "\"");
  }
  return fault;
}

void Damage(LinkId link, const Fault& fault, Topology& topology) {
  if (fault.date) {
    DatedFaults& dated = topology.dated();
    dated.links.push_back(
        {.date = *fault.date,
         .link = link,
         .factor = fault.rate.value_or(0),
         .fault = static_cast<std::uint32_t>(dated.faults.size() - 1)});
  } else if (fault.rate) {
    topology.Degrade(link, *fault.rate);
  } else {
    topology.Kill(link);
  }
}

void Damage(ChipId chip, const Fault& fault, Topology& topology) {
  if (!fault.date) {
    topology.Kill(chip);
    return;
  }
  DatedFaults& dated = topology.dated();
  dated.chips.push_back(
      {.date = *fault.date,
       .chip = chip,
       .fault = static_cast<std::uint32_t>(dated.faults.size() - 1)});
  topology.ForEachLiveLinkFrom(chip, [&](LinkId link) {
    Damage(link, fault, topology);
    Damage(topology.Reverse(link), fault, topology);
  });
}

[[noreturn]] void FailDead(const DatedFault& fault, const std::string& what,
                           const std::string& since) {
  throw InputError(fault.where, what + " is dead " + since + ", \"" +
                                    fault.text +
                                    "\" comes too late; remove one of the two");
}

}  // namespace

void ApplyFault(const std::string& text, const std::string& where,
                Topology& topology) {
  const Fault fault = ParseFault(text, where);
  if (fault.date) {
    topology.dated().faults.push_back({.text = text,
                                       .where = where,
                                       .date = *fault.date,
                                       .is_chip = fault.is_chip});
  }
  if (fault.is_chip) {
    const auto chip = topology.FindChip(fault.target);
    if (!chip) {
      throw InputError(where, "no chip \"" + fault.target +
                                  "\" in this slice; expected " +
                                  Bounds(topology));
    }
    Damage(*chip, fault, topology);
    return;
  }
  const auto link = topology.FindLink(fault.target);
  if (!link) {
    throw InputError(where, "no link \"" + fault.target +
                                "\" in this slice; expected " +
                                ExpectedLink(topology));
  }
  Damage(*link, fault, topology);
  if (!fault.oneway) Damage(topology.Reverse(*link), fault, topology);
}

void SettleDatedFaults(Topology& topology) {
  DatedFaults& dated = topology.dated();
  const auto by_date = [](const auto& a, const auto& b) {
    return a.date < b.date;
  };
  std::stable_sort(dated.links.begin(), dated.links.end(), by_date);
  std::stable_sort(dated.chips.begin(), dated.chips.end(), by_date);
  for (const ChipDeath& death : dated.chips) {
    if (topology.Live(death.chip)) continue;
    FailDead(dated.faults[death.fault],
             "chip (" + topology.NameOf(death.chip) + ")", "from the start");
  }
  std::set<LinkId> dying;
  std::vector<LinkChange> changes;
  for (const LinkChange& change : dated.links) {
    const DatedFault& fault = dated.faults[change.fault];
    const std::string link = "link " + topology.NameOf(change.link);
    const bool live = topology.Live(change.link);
    if (!live && !fault.is_chip) FailDead(fault, link, "from the start");
    const bool again = dying.count(change.link) > 0;
    if (again && change.factor > 0) FailDead(fault, link, "by then");
    if (change.factor == 0) dying.insert(change.link);
    if (live && !again) changes.push_back(change);
  }
  dated.links = std::move(changes);
}

std::optional<std::vector<std::string>> FaultsOfEach(const std::string& text,
                                                     const Topology& topology) {
  std::vector<std::string> faults;
  const auto at = std::min(text.find('@'), text.size());
  const std::string what = text.substr(0, at), date = text.substr(at);
  if (what == "each-chip") {
    for (int id = 0; id < topology.chips(); ++id) {
      if (!topology.Live(ChipId(id))) continue;
      faults.push_back("chip:" + topology.NameOf(ChipId(id)) + date);
    }
    return faults;
  }
  if (what != "each-cable") return std::nullopt;
  std::set<LinkId> seen;
  topology.ForEachLiveLink([&](LinkId link) {
    seen.insert(link);
    if (seen.count(topology.Reverse(link)) > 0) return;
    faults.push_back("link:" + topology.NameOf(link) + date);
  });
  return faults;
}

}  // namespace podsim
