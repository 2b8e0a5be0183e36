#include "cli/chakra_file.h"

#include <memory>
#include <vector>

#include "base/error.h"
#include "report/output_file.h"
#include "workload/chakra_lower.h"

namespace podsim {
namespace {

SliceRequest RequireSlice(const CliOptions& options) {
  if (options.slice.empty()) {
    throw InputError("--slice",
                     "is required: traces do not name their slice; e.g. "
                     "--slice v5e:2x2");
  }
  return SliceRequestOf(options);
}

}  // namespace

void RejectChakraFlags(const CliOptions& options) {
  if (options.process_groups.empty()) return;
  throw InputError("--process-groups",
                   "is for collectives of Chakra traces; leave it out");
}

bool AreChakraMessages(const CliOptions& options) {
  return HasMessages(ReadChakra(options.file));
}

ScheduleFile ReadChakraSchedule(const CliOptions& options) {
  if (!options.bytes.empty()) {
    throw InputError("--bytes", "the sizes are in the traces; leave it out");
  }
  RejectChakraFlags(options);
  return MakeChakraSchedule(ReadChakra(options.file), RequireSlice(options));
}

Workload ReadChakraWorkload(const CliOptions& options) {
  std::vector<ChakraGroup> groups;
  if (!options.process_groups.empty()) {
    groups = ReadChakraGroups(options.process_groups);
  }
  return MakeChakraWorkload(
      ReadChakra(options.file),
      {.slice = RequireSlice(options), .lowerings = options.lowerings}, groups);
}

void WriteChakraFiles(const Schedule& schedule, int chips,
                      const CliOptions& options) {
  const std::string prefix =
      options.output.substr(0, options.output.size() - 2);
  const std::string where = "-o " + options.output;
  std::vector<std::unique_ptr<OutputFile>> files;
  for (int chip = 0; chip < chips; ++chip) {
    const ChipId rank(static_cast<std::uint32_t>(chip));
    const std::string text = ChakraText(schedule, rank, where);
    files.push_back(std::make_unique<OutputFile>(
        prefix + std::to_string(chip) + ".et", where));
    files.back()->Write(text);
  }
  for (const auto& file : files) file->Commit();
}

}  // namespace podsim
