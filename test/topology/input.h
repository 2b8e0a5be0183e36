#ifndef PODSIM_TEST_TOPOLOGY_INPUT_H_
#define PODSIM_TEST_TOPOLOGY_INPUT_H_

#include <string>
#include <vector>

#include "test/support/error_of.h"
#include "topology/slice.h"

namespace podsim {

inline Slice SliceOf(const std::string& spec,
                     const std::vector<std::string>& sets = {},
                     const std::vector<std::string>& faults = {}) {
  SliceRequest request;
  request.spec = spec;
  request.sets = sets;
  request.faults = faults;
  return MakeSlice(request);
}

inline std::string SliceError(const std::string& spec,
                              const std::vector<std::string>& sets = {},
                              const std::vector<std::string>& faults = {}) {
  return ErrorOf([&] { SliceOf(spec, sets, faults); });
}

}  // namespace podsim

#endif  // PODSIM_TEST_TOPOLOGY_INPUT_H_
