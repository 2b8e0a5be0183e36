#include "cli/cli.h"

#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"

namespace podsim {
namespace {

constexpr int kUsageOrInput = 2;

int Fail(const char* message) {
  std::cerr << "podsim: error: " << message << "\n";
  return kUsageOrInput;
}

int Run(int argc, char** argv) {
  CliOptions options;
  if (!ParseCommandLine(argc, argv, options)) return 0;
  return RunCommand(options);
}

}  // namespace

int RunCli(int argc, char** argv) {
  int status = 0;
  try {
    status = Run(argc, argv);
  } catch (const InputError& error) {
    return Fail(error.what());
  } catch (const std::bad_alloc&) {
    return Fail(
        "out of memory; lower --max-memory to be warned before, or let "
        "the run fold");
  }
  // A full disk or closed pipe must not look like success.
  std::cout.flush();
  if (std::fflush(stdout) != 0 || !std::cout) {
    return Fail("stdout: cannot be written");
  }
  return status;
}

}  // namespace podsim
