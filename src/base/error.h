#ifndef PODSIM_BASE_ERROR_H_
#define PODSIM_BASE_ERROR_H_

#include <stdexcept>
#include <string>

namespace podsim {

// The user's input cannot be used. `where` names the file and JSON pointer, or
// the flag; `what` says what was found, what was expected, and the remedy.
// Thrown where the value is read, caught once, in main (exit status 2).
class InputError : public std::runtime_error {
 public:
  InputError(const std::string& where, const std::string& what)
      : std::runtime_error(where.empty() ? what : where + ": " + what) {}
};

}  // namespace podsim

#endif  // PODSIM_BASE_ERROR_H_
