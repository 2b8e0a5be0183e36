#ifndef PODSIM_BASE_FORKED_H_
#define PODSIM_BASE_FORKED_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace podsim {

// What a task in a process of its own came to.
struct ForkedResult {
  bool ok = false;
  std::string output;  // what the task returned
  // Why not ok: the message of an InputError, "out of memory", or "internal
  // error: " and the last line that the process wrote to stderr, else the
  // signal or status that ended it.
  std::string failure;
};

// Runs task(0) .. task(tasks - 1), each in a forked process, at most `jobs` at
// once, and returns their results in this order. SimGrid allows one engine per
// process, and a task that crashes takes nothing down with it. `finished` is
// called as tasks end, in any order. Fork from a process that has no threads
// and no SimGrid engine. A task must not write to stdout; what it writes to
// stderr is shown only in `failure`. The processes die with their parent.
std::vector<ForkedResult> RunForked(
    std::size_t tasks, int jobs,
    const std::function<std::string(std::size_t)>& task,
    const std::function<void(std::size_t task, const ForkedResult&)>& finished);

// One task.
ForkedResult RunForked(const std::function<std::string()>& task);

}  // namespace podsim

#endif  // PODSIM_BASE_FORKED_H_
