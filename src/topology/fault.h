#ifndef PODSIM_TOPOLOGY_FAULT_H_
#define PODSIM_TOPOLOGY_FAULT_H_

#include <string>

#include "topology/topology.h"

namespace podsim {

// Applies one fault to the topology:
//   link:1,2,3:x+            the cable, both directions
//   link:1,2,3:x+:oneway     one direction
//   link:1,2,3:x+=50%        the cable runs at 50 % of its rate
//   link:3-4                 on a topology with explicit links
//   chip:1,2,3               the chip and all its links
// Throws InputError{where, ..} when it names nothing that exists. Dates
// ("@200us") are read and refused: this version has no timed faults.
void ApplyFault(const std::string& text, const std::string& where,
                Topology& topology);

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_FAULT_H_
