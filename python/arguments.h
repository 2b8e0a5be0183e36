#ifndef PODSIM_PYTHON_ARGUMENTS_H_
#define PODSIM_PYTHON_ARGUMENTS_H_

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "cli/options.h"
#include "topology/slice.h"

namespace podsim {

// What podsim.slice makes: a request that works, and its report.
struct PythonSlice {
  SliceRequest request;
  pybind11::dict report;  // podsim-topology-report/1
};

// The options that the command line `words` and keyword arguments give, checked
// by the parser of the command line: x_y="z" is --x-y=z, True a flag, a list
// the flag once for each, a dict (set) KEY=VALUE for each, None nothing, a
// whole number for a quantity of bytes so many bytes. `slice` may be a
// PythonSlice. Throws InputError, and TypeError for what writes files.
CliOptions OptionsOf(std::vector<std::string> words,
                     const pybind11::kwargs& arguments);

}  // namespace podsim

#endif  // PODSIM_PYTHON_ARGUMENTS_H_
