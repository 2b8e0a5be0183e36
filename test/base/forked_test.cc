#include "base/forked.h"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "base/error.h"

namespace podsim {
namespace {

void Ignore(std::size_t, const ForkedResult&) {}

TEST_CASE("results come in the order of the tasks, however many run at once",
          "[base]") {
  const int jobs = GENERATE(1, 2, 5, 64);
  constexpr std::size_t kTasks = 40;
  std::size_t finished = 0;
  const auto results = RunForked(
      kTasks, jobs,
      [](std::size_t k) {
        // The first are the last to end.
        usleep(static_cast<useconds_t>(100 * (kTasks - k)));
        return std::to_string(k * k);
      },
      [&](std::size_t, const ForkedResult& result) {
        ++finished;
        CHECK(result.ok);
      });
  REQUIRE(results.size() == kTasks);
  CHECK(finished == kTasks);
  for (std::size_t k = 0; k < kTasks; ++k) {
    CHECK(results[k].output == std::to_string(k * k));
  }
  CHECK(RunForked(0, jobs, {}, Ignore).empty());
}

TEST_CASE("an output larger than a pipe, with any bytes in it, arrives whole",
          "[base]") {
  std::string text(1 << 20, 'a');
  text[5] = '\0';
  text[6] = '\n';
  const ForkedResult result = RunForked([&] { return text + text; });
  CHECK(result.ok);
  CHECK(result.output == text + text);
  CHECK(RunForked([] { return std::string(); }).ok);
}

TEST_CASE("a task fails alone, and says why", "[base]") {
  const std::vector<std::function<std::string()>> tasks = {
      [] { return std::string("fine"); },
      []() -> std::string { throw InputError("--slice", "is odd"); },
      []() -> std::string { throw std::bad_alloc(); },
      []() -> std::string { throw std::logic_error("left is right"); },
      [] {
        // As our CHECK does; the test runner's handler is not ours.
        std::signal(SIGABRT, SIG_DFL);
        std::fprintf(stderr, "noise\npodsim: internal error: 1 + 1 is 3\n");
        std::abort();
        return std::string();
      },
      []() -> std::string {
        std::raise(SIGKILL);
        return "";
      },
      []() -> std::string { _exit(7); },
      [] { return std::string("fine too"); }};
  const auto results = RunForked(
      tasks.size(), 3, [&](std::size_t k) { return tasks[k](); }, Ignore);
  CHECK(results[0].output == "fine");
  CHECK(results[1].failure == "--slice: is odd");
  CHECK(results[2].failure == "out of memory");
  CHECK(results[3].failure == "internal error: left is right");
  CHECK(results[4].failure == "internal error: 1 + 1 is 3");
  CHECK(results[5].failure ==
        "internal error: the process was ended by a signal: Killed");
  CHECK(results[6].failure ==
        "internal error: the process ended with status 7");
  CHECK(results[7].output == "fine too");
  for (std::size_t k = 1; k < 7; ++k) {
    CHECK_FALSE(results[k].ok);
    CHECK(results[k].output == "");
  }
}

TEST_CASE("where descriptors are few, fewer run at once", "[base]") {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit few = before;
  few.rlim_cur = 20;  // 4 for each process that runs or starts
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto results = RunForked(
      50, 50, [](std::size_t k) { return std::to_string(k); }, Ignore);
  setrlimit(RLIMIT_NOFILE, &before);
  for (std::size_t k = 0; k < results.size(); ++k) {
    CHECK(results[k].output == std::to_string(k));
  }
}

TEST_CASE("a parent that ignores the end of its children hears of it here",
          "[base]") {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  CHECK(RunForked([] { return std::string("heard"); }).output == "heard");
  CHECK(std::signal(SIGCHLD, before) == SIG_IGN);
}

}  // namespace
}  // namespace podsim
