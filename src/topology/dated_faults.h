#ifndef PODSIM_TOPOLOGY_DATED_FAULTS_H_
#define PODSIM_TOPOLOGY_DATED_FAULTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"

namespace podsim {

// A fault of a running slice, as it was written. Dates in seconds since the
// start of the run.
struct DatedFault {
  std::string text;   // "link:1,2,3:x+=50%@200us"
  std::string where;  // for messages
  double date = 0;
  bool is_chip = false;
};

// A link gets another rate.
struct LinkChange {
  double date = 0;
  LinkId link;
  double factor = 0;  // of its rate in the slice, whatever it was; 0: it dies
  std::uint32_t fault = 0;  // index into DatedFaults::faults
};

// A chip dies; its links have changes of their own.
struct ChipDeath {
  double date = 0;
  ChipId chip;
  std::uint32_t fault = 0;
};

// What happens to a slice while it works. Nobody knows before: schedules and
// bounds are those of the slice without it.
struct DatedFaults {
  std::vector<DatedFault> faults;
  std::vector<LinkChange> links;  // by date
  std::vector<ChipDeath> chips;   // by date

  bool empty() const { return faults.empty(); }
};

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_DATED_FAULTS_H_
