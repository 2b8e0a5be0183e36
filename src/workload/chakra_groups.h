#ifndef PODSIM_WORKLOAD_CHAKRA_GROUPS_H_
#define PODSIM_WORKLOAD_CHAKRA_GROUPS_H_

#include <span>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "workload/chakra.h"

namespace podsim {

// The groups of a collective whose node on every rank is `nodes[rank]`, in the
// order of their first ranks. A pg_name is looked up in the rank's own trace,
// then in `communicators`; "" and "0" are all ranks unless they are found.
// Throws InputError for names of no group, and for ranks that do not agree
// which of them meet.
std::vector<std::vector<ChipId>> GroupsOfNodes(
    std::span<const ChakraTrace> traces,
    std::span<const ChakraNode* const> nodes,
    std::span<const ChakraGroup> communicators);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_CHAKRA_GROUPS_H_
