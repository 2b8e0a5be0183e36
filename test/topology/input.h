#ifndef PODSIM_TEST_TOPOLOGY_INPUT_H_
#define PODSIM_TEST_TOPOLOGY_INPUT_H_

#include <string>
#include <vector>

#include "base/error.h"
#include "topology/slice.h"

namespace podsim {

// What the user would read, or "no error".
template <class Action>
std::string ErrorOf(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

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
