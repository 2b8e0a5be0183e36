#ifndef PODSIM_TEST_SUPPORT_ERROR_OF_H_
#define PODSIM_TEST_SUPPORT_ERROR_OF_H_

#include <string>

#include "base/error.h"

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

}  // namespace podsim

#endif  // PODSIM_TEST_SUPPORT_ERROR_OF_H_
