// import podsim: the commands of the command line as functions
// (docs/python.md). Results are the JSON that the command line writes, read by
// Python's json.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/parse_units.h"
#include "cli/chakra_file.h"
#include "cli/collectives_of.h"
#include "cli/commands.h"
#include "cli/hlo_file.h"
#include "cli/step_commands.h"
#include "report/json.h"
#include "report/sweep_report.h"
#include "report/topology_report.h"
#include "report/version.h"
#include "schedule/goal.h"
#include "schedule/msccl_xml.h"
#include "schedule/schedule_file.h"
#include "schedule_arrays.h"
#include "sim/choose_lowering.h"
#include "sim/memory_guard.h"
#include "sim/simulate.h"
#include "sim/sweep.h"
#include "workload/chakra.h"
#include "workload/hlo_workload.h"

namespace podsim {
namespace {

namespace py = pybind11;

constexpr int kMostJobs = 1024;

py::object FromJson(const std::string& text) {
  return py::module_::import("json").attr("loads")(text);
}

std::string ToJson(const py::dict& value) {
  return py::str(py::module_::import("json").attr("dumps")(value));
}

// Python runs on meanwhile. One at a time: the simulator is one per process.
class LongWork {
 public:
  LongWork() : lock_(mutex_) {}

 private:
  static inline std::mutex mutex_;
  py::gil_scoped_release release_;  // before the lock, for who holds it
  std::lock_guard<std::mutex> lock_;
};

// As warnings of Python.
void WarnPython(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    if (PyErr_WarnEx(PyExc_UserWarning, warning.c_str(), 1) != 0) {
      throw py::error_already_set();
    }
  }
}

PythonSlice MakePythonSlice(const std::string& spec,
                            const py::kwargs& arguments) {
  const CliOptions options = OptionsOf({"topology", spec}, arguments);
  PythonSlice made;
  made.request = SliceRequestOf(options);
  const Slice slice = MakeSlice(made.request);
  WarnPython(slice.warnings);
  made.report = FromJson(TopologyJson(slice));
  return made;
}

// One collective on its slice, as the flags of a command say.
struct OneCollective {
  CliOptions options;
  Slice slice;
  Collective collective;
  std::optional<LoweringSpec> lowering;  // nullopt: auto
};

std::optional<LoweringSpec> OneLowering(const std::vector<std::string>& texts) {
  if (texts.size() > 1 || (!texts.empty() && texts[0] == "all")) {
    throw InputError("--lowering", "expected one lowering; use podsim.compare");
  }
  if (texts.empty() || texts[0] == "auto") return std::nullopt;
  return ParseLoweringSpec(texts[0], "--lowering");
}

OneCollective ReadCollective(std::vector<std::string> words,
                             const py::kwargs& arguments) {
  CliOptions options = OptionsOf(std::move(words), arguments);
  options.json = "-";  // so that the links are listed as there
  Slice slice = MakeSlice(SliceRequestOf(options));
  WarnPython(slice.warnings);
  std::vector<Collective> collectives = CollectivesOf(options, slice);
  if (collectives.size() != 1) {
    throw InputError("--bytes", "expected one payload, got " + options.bytes);
  }
  const auto lowering = OneLowering(options.lowerings);
  return {.options = std::move(options),
          .slice = std::move(slice),
          .collective = std::move(collectives[0]),
          .lowering = lowering};
}

py::object RunCollective(const std::string& kind, const py::kwargs& arguments) {
  const OneCollective one = ReadCollective({"collective", kind}, arguments);
  const SimOptions sim = SimOptionsOf(one.options);
  std::string json;
  {
    const LongWork long_work;
    PhaseTimes times;
    json =
        ResultJson(one.slice.parameters,
                   {SimulateCollective(one.collective, one.slice, one.lowering,
                                       "--lowering", sim, times)},
                   {});
  }
  return FromJson(json)["points"][py::int_(0)];
}

py::object RunCompare(const std::string& kind, const py::kwargs& arguments) {
  const OneCollective one = ReadCollective({"compare", kind}, arguments);
  const SimOptions sim = SimOptionsOf(one.options);
  std::string json;
  {
    const LongWork long_work;
    PhaseTimes times;
    const Comparison comparison =
        CompareLowerings(one.collective, one.slice, sim, times);
    json = ResultJson(one.slice.parameters, comparison.points,
                      comparison.not_applicable);
  }
  const py::object result = FromJson(json);
  return py::make_tuple(result["points"], result["not_applicable"]);
}

ScheduleArrays RunSchedule(const std::string& kind,
                           const py::kwargs& arguments) {
  const OneCollective one = ReadCollective({"lower", "-o=-", kind}, arguments);
  const SimOptions sim = SimOptionsOf(one.options);
  Schedule schedule;
  std::string lowering;
  {
    const LongWork long_work;
    const Topology& topology = one.slice.topology;
    const LoweredCollective lowered = LowerOrChoose(
        one.collective, one.slice, one.lowering, "--lowering", sim);
    RequireFewUnfolded(lowered, topology, "lower");
    RequireMemory(CountTransfers(lowered, topology), sim, "--max-memory",
                  "take fewer chips or batches");
    VerifyLowered(lowered, one.slice, sim);
    lowering = ToText(lowered.spec, one.collective, topology);
    schedule = MakeSchedule(lowered, topology, NoFold(topology),
                            one.collective.payload);
  }
  return ArraysOf(schedule, lowering);
}

py::object SimulateWorkload(const Workload& workload, const SimOptions& sim) {
  RequireRunnable(workload, sim);
  WarnPython(workload.slice.warnings);
  WarnPython(workload.warnings);
  std::string json;
  {
    const LongWork long_work;
    PhaseTimes times;
    json = ResultJson(workload.slice.parameters,
                      SimulateStep(workload, sim, times));
  }
  return FromJson(json);
}

// {"violations": [..]} if the schedule is wrong.
py::object SimulateFile(const CliOptions& options, const SimOptions& sim) {
  RejectHloFlags(options);
  RejectScheduleFlags(options);
  std::optional<Bytes> payload;
  if (!options.bytes.empty()) payload = ParseBytes(options.bytes, "--bytes");
  const ScheduleFile file =
      IsChakraFile(options.file)
          ? ReadChakraSchedule(options)
          : ReadScheduleFile(options.file, SliceRequestOf(options), payload);
  WarnPython(file.slice.warnings);
  ScheduleResult result;
  {
    const LongWork long_work;
    PhaseTimes times;
    result = SimulateSchedule(file, sim, times);
  }
  if (!result.violations.empty()) {
    py::dict answer;
    answer["violations"] = py::cast(result.violations.texts());
    return answer;
  }
  return FromJson(ResultJson(file.slice.parameters, {result.point}, {}));
}

bool IsScheduleFile(const CliOptions& options) {
  const std::string& path = options.file;
  if (IsGoalFile(path)) {
    throw InputError(path, "GOAL programs are for the command line only");
  }
  if (IsHloFile(path)) return false;
  if (IsChakraFile(path)) return AreChakraMessages(options);
  return IsMscclFile(path) ||
         JsonValue::ReadFile(path).Get("format").AsString() ==
             "podsim-schedule/1";
}

py::object RunSimulate(const py::object& file, const py::kwargs& arguments) {
  const bool given = py::isinstance<py::dict>(file);
  const std::string path = given ? "dict" : std::string(py::str(file));
  CliOptions options = OptionsOf({"simulate", path}, arguments);
  options.json = "-";
  const SimOptions sim = SimOptionsOf(options);
  if (!given && IsScheduleFile(options)) return SimulateFile(options, sim);
  RejectBytesOfStep(options);
  if (!given) return SimulateWorkload(ReadStep(options), sim);
  RejectHloFlags(options);
  const JsonValue json = JsonValue::ParseText(ToJson(file), path);
  return SimulateWorkload(
      EditedStep(ReadWorkload(json, {.slice = SliceRequestOf(options),
                                     .lowerings = options.lowerings}),
                 options),
      sim);
}

py::object RunSweepOf(const py::object& file, const py::kwargs& arguments) {
  const bool given = py::isinstance<py::dict>(file);
  const std::string path = given ? "dict" : std::string(py::str(file));
  const CliOptions options = OptionsOf({"sweep", path}, arguments);
  const int jobs = ParseCount(options.jobs, 1, kMostJobs, "--jobs");
  const JsonValue json = given ? JsonValue::ParseText(ToJson(file), path)
                               : JsonValue::ReadFile(path);
  const SimOptions sim = SimOptionsOf(options);
  const auto points = Filtered(ReadSweep(json), options.only, options.except);
  std::vector<SweepRow> rows;
  {
    const LongWork long_work;
    rows = RunSweep(points, sim, jobs, RowTextOf(SweepFormat::kJson), nullptr,
                    [](std::size_t, std::size_t, std::size_t) {});
  }
  WarnPython(WarningsOf(rows));
  return FromJson(SweepText(SweepFormat::kJson, rows))["points"];
}

void DefineSlice(py::module_& module) {
  py::class_<PythonSlice> slice(module, "Slice", "Chips and links.");
  for (const char* key : {"slice", "generation", "shape", "axes", "wraps",
                          "twisted", "slices", "chips", "links", "diameter",
                          "mean_hops", "bisection", "bounds", "parameters"}) {
    slice.def_property_readonly(key,
                                [key](const PythonSlice& self) -> py::object {
                                  return self.report[key];
                                });
  }
  slice.def("__repr__", [](const PythonSlice& self) {
    return "podsim.slice(\"" + self.request.spec + "\")";
  });
}

void DefineSchedule(py::module_& module) {
  py::class_<ScheduleArrays>(module, "Schedule", "Arrays, an entry per op.")
      .def_readonly("lowering", &ScheduleArrays::lowering)
      .def_readonly("kind", &ScheduleArrays::kind)
      .def_readonly("src", &ScheduleArrays::src)
      .def_readonly("dst", &ScheduleArrays::dst)
      .def_readonly("bytes", &ScheduleArrays::bytes)
      .def_readonly("after_offsets", &ScheduleArrays::after_offsets)
      .def_readonly("after", &ScheduleArrays::after)
      .def("__len__",
           [](const ScheduleArrays& self) { return self.kind.size(); });
}

}  // namespace

PYBIND11_MODULE(podsim, module) {
  module.doc() = "Simulates collectives and steps on TPU slices.";
  module.attr("__version__") = kVersion;
  py::register_exception<InputError>(module, "InputError", PyExc_ValueError);
  DefineSlice(module);
  DefineSchedule(module);
  module.def("slice", MakePythonSlice, py::arg("spec"),
             "Slice of \"v5p:4x4x4\" or a topology file; set=, faults=, "
             "ideal=.");
  module.def("collective", RunCollective, py::arg("kind"),
             "The point of podsim collective --json; slice=, bytes=, and its "
             "other flags.");
  module.def("compare", RunCompare, py::arg("kind"),
             "(points, fastest first; what does not apply, and why).");
  module.def("schedule", RunSchedule, py::arg("kind"),
             "Schedule of podsim lower, as arrays.");
  module.def("simulate", RunSimulate, py::arg("file"),
             "The result of podsim simulate --json; a dict is a workload.");
  module.def("sweep", RunSweepOf, py::arg("file"),
             "The rows of podsim sweep; a file or a dict; jobs=, only=, "
             "except_=.");
}

}  // namespace podsim
