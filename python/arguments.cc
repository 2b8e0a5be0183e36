#include "arguments.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace podsim {
namespace {

namespace py = pybind11;

constexpr std::array kFiles = {"json",   "csv",    "html",    "trace",
                               "timing", "output", "top",     "trace_chips",
                               "resume", "shard",  "progress"};

bool IsInteger(py::handle value) {
  return py::isinstance<py::int_>(value) && !py::isinstance<py::bool_>(value);
}

std::string TextOf(const std::string& name, py::handle value) {
  const std::string text = py::str(value);
  const bool of_bytes = name == "bytes" || name == "max_memory";
  return of_bytes && IsInteger(value) ? text + "B" : text;
}

std::string FlagOf(std::string name) {
  if (name == "faults") name = "fault";
  if (name.ends_with('_')) name.pop_back();  // except_
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

void AddSliceWords(const PythonSlice& slice, std::vector<std::string>& words) {
  words.push_back("--slice=" + slice.request.spec);
  for (const auto& set : slice.request.sets) words.push_back("--set=" + set);
  for (const auto& fault : slice.request.faults) {
    words.push_back("--fault=" + fault);
  }
  if (slice.request.ideal) words.emplace_back("--ideal");
}

void AddWords(const std::string& name, py::handle value,
              std::vector<std::string>& words) {
  const std::string flag = FlagOf(name);
  if (value.is_none()) return;
  if (py::isinstance<PythonSlice>(value)) {
    AddSliceWords(value.cast<const PythonSlice&>(), words);
  } else if (py::isinstance<py::bool_>(value)) {
    if (value.cast<bool>()) words.push_back(flag);
  } else if (py::isinstance<py::dict>(value)) {
    for (const auto& [key, entry] : py::reinterpret_borrow<py::dict>(value)) {
      words.push_back(flag + "=" + std::string(py::str(key)) + "=" +
                      std::string(py::str(entry)));
    }
  } else if (py::isinstance<py::list>(value) ||
             py::isinstance<py::tuple>(value)) {
    for (const py::handle entry : value) {
      words.push_back(flag + "=" + TextOf(name, entry));
    }
  } else {
    words.push_back(flag + "=" + TextOf(name, value));
  }
}

}  // namespace

CliOptions OptionsOf(std::vector<std::string> words,
                     const py::kwargs& arguments) {
  for (const auto& [key, value] : arguments) {
    const std::string name = py::str(key);
    if (std::find(kFiles.begin(), kFiles.end(), name) != kFiles.end()) {
      throw py::type_error(name + ": is for the command line only");
    }
    AddWords(name, value, words);
  }
  words.insert(words.begin(), "podsim");
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  CliOptions options;
  if (!ParseCommandLine(static_cast<int>(argv.size()), argv.data(), options)) {
    throw InputError("", "help and versions are for the command line only");
  }
  return options;
}

}  // namespace podsim
