#include "base/forked.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <optional>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"

namespace podsim {
namespace {

// How a child says what its output is.
constexpr int kReturned = 0;  // of the task
constexpr int kRefused = 3;   // the message of the failure

constexpr char kInternal[] = "internal error: ";

// A process that runs one task, and what it has written so far.
struct Child {
  struct Stream {
    int descriptor = -1;  // -1: at its end
    std::string text;
  };
  pid_t process = 0;
  std::size_t task = 0;
  std::array<Stream, 2> streams;  // output, stderr
};

void WriteAll(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written =
        write(descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // the parent is gone
    done += static_cast<std::size_t>(written);
  }
}

// The life of a child. _exit: the parent's buffers are not ours to flush, and
// SimGrid's teardown would take longer than a small task.
[[noreturn]] void RunTask(const std::function<std::string()>& task, int output,
                          int error, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kRefused);  // it died before the prctl
  dup2(error, STDERR_FILENO);
  std::string text;
  int status = kRefused;
  try {
    text = task();
    status = kReturned;
  } catch (const InputError& refusal) {
    text = refusal.what();
  } catch (const std::bad_alloc&) {
    text = "out of memory";
  } catch (const std::exception& exception) {
    text = std::string(kInternal) + exception.what();
  }
  WriteAll(output, text);
  _exit(status);
}

void ClosePipe(const int (&ends)[2]) {
  close(ends[0]);
  close(ends[1]);
}

// nullopt, with errno, if the system has no more pipes or processes.
std::optional<Child> Start(const std::function<std::string()>& task,
                           std::size_t index) {
  int output[2], error[2];
  if (pipe(output) != 0) return std::nullopt;
  if (pipe(error) != 0) {
    ClosePipe(output);
    return std::nullopt;
  }
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) RunTask(task, output[1], error[1], parent);
  close(output[1]);
  close(error[1]);
  if (process < 0) {
    close(output[0]);
    close(error[0]);
    return std::nullopt;
  }
  Child child;
  child.process = process;
  child.task = index;
  child.streams[0].descriptor = output[0];
  child.streams[1].descriptor = error[0];
  return child;
}

// Takes what has arrived; closes the stream at its end.
void Read(Child::Stream& stream) {
  std::array<char, 65536> buffer;
  const ssize_t count = read(stream.descriptor, buffer.data(), buffer.size());
  if (count > 0) {
    stream.text.append(buffer.data(), static_cast<std::size_t>(count));
  } else if (count == 0 || errno != EINTR) {
    close(stream.descriptor);
    stream.descriptor = -1;
  }
}

// Waits until a child has written something, and reads it.
void ReadSome(std::vector<Child>& children) {
  std::vector<pollfd> polled;
  std::vector<Child::Stream*> streams;
  for (Child& child : children) {
    for (Child::Stream& stream : child.streams) {
      if (stream.descriptor < 0) continue;
      polled.push_back(
          {.fd = stream.descriptor, .events = POLLIN, .revents = 0});
      streams.push_back(&stream);
    }
  }
  const int ready = poll(polled.data(), polled.size(), /*timeout=*/-1);
  CHECK(ready > 0 || errno == EINTR) << std::strerror(errno);
  if (ready <= 0) return;
  for (std::size_t k = 0; k < polled.size(); ++k) {
    if (polled[k].revents != 0) Read(*streams[k]);
  }
}

bool AtEnd(const Child& child) {
  return child.streams[0].descriptor < 0 && child.streams[1].descriptor < 0;
}

// The last line that is not empty, without our own prefixes.
std::string LastLine(const std::string& text) {
  std::string last;
  for (const std::string& line : Split(text, '\n')) {
    if (!line.empty()) last = line;
  }
  for (const std::string prefix : {"podsim: ", kInternal}) {
    if (last.starts_with(prefix)) last.erase(0, prefix.size());
  }
  return last;
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) {
    return std::string("the process was ended by a signal: ") +
           strsignal(WTERMSIG(status));
  }
  return "the process ended with status " + std::to_string(WEXITSTATUS(status));
}

ForkedResult Reap(Child& child) {
  int status = 0;
  pid_t reaped = 0;
  do {
    reaped = waitpid(child.process, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  CHECK(reaped == child.process) << std::strerror(errno);
  ForkedResult result;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kReturned) {
    result.ok = true;
    result.output = std::move(child.streams[0].text);
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == kRefused) {
    result.failure = std::move(child.streams[0].text);
  } else {
    const std::string last = LastLine(child.streams[1].text);
    result.failure = kInternal + (last.empty() ? HowItEnded(status) : last);
  }
  return result;
}

// A parent that ignores SIGCHLD has its children reaped by the system, and
// their status is lost. Ignored signals are inherited, so we may be that one.
class DefaultChildSignal {
 public:
  DefaultChildSignal() : before_(std::signal(SIGCHLD, SIG_DFL)) {}
  ~DefaultChildSignal() { std::signal(SIGCHLD, before_); }
  DefaultChildSignal(const DefaultChildSignal&) = delete;
  DefaultChildSignal& operator=(const DefaultChildSignal&) = delete;

 private:
  void (*before_)(int);
};

}  // namespace

std::vector<ForkedResult> RunForked(
    std::size_t tasks, int jobs,
    const std::function<std::string(std::size_t)>& task,
    const std::function<void(std::size_t, const ForkedResult&)>& finished) {
  const DefaultChildSignal default_signal;
  std::vector<ForkedResult> results(tasks);
  std::vector<Child> children;
  std::size_t next = 0;
  while (next < tasks || !children.empty()) {
    while (next < tasks && children.size() < static_cast<std::size_t>(jobs)) {
      auto child = Start([&] { return task(next); }, next);
      // With fewer at once there may be room again.
      if (!child && !children.empty()) break;
      if (child) {
        children.push_back(*std::move(child));
      } else {
        results[next].failure =
            std::string("no process could be started: ") + std::strerror(errno);
        finished(next, results[next]);
      }
      ++next;
    }
    if (children.empty()) continue;
    ReadSome(children);
    std::erase_if(children, [&](Child& child) {
      if (!AtEnd(child)) return false;
      results[child.task] = Reap(child);
      finished(child.task, results[child.task]);
      return true;
    });
  }
  return results;
}

ForkedResult RunForked(const std::function<std::string()>& task) {
  return RunForked(
             1, 1, [&](std::size_t) { return task(); },
             [](std::size_t, const ForkedResult&) {})
      .front();
}

}  // namespace podsim
