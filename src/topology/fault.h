#ifndef PODSIM_TOPOLOGY_FAULT_H_
#define PODSIM_TOPOLOGY_FAULT_H_

#include <optional>
#include <string>
#include <vector>

#include "topology/topology.h"

namespace podsim {

// Applies one fault to the topology:
//   link:1,2,3:x+            the cable, both directions
//   link:1,2,3:x+:oneway     one direction
//   link:1,2,3:x+=50%        the cable runs at 50 % of its rate
//   link:3-4                 on a topology with explicit links
//   chip:1,2,3               the chip and all its links
// With a date ("link:1,2,3:x+@200us") the slice stays as it is and the fault
// goes to topology.dated(). Throws InputError{where, ..} when it names nothing
// that exists.
void ApplyFault(const std::string& text, const std::string& where,
                Topology& topology);

// Once all faults are applied: sorts the dated ones. Throws InputError for
// those of links and chips that are dead already, as nothing comes back to
// life.
void SettleDatedFaults(Topology& topology);

// The faults that "each-cable" and "each-chip" stand for, one each, as --fault
// takes them: both directions of every live cable ("link:0,0,0:x+"), every live
// chip ("chip:0,0,0"), at the date that may follow ("each-cable@200us").
// nullopt: the text is neither.
std::optional<std::vector<std::string>> FaultsOfEach(const std::string& text,
                                                     const Topology& topology);

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_FAULT_H_
