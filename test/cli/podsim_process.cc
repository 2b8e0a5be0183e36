#include "test/cli/podsim_process.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

extern char** environ;

namespace podsim {
namespace {

// An anonymous file that a child writes and we read.
class Capture {
 public:
  Capture() : file_(std::tmpfile(), std::fclose) { REQUIRE(file_ != nullptr); }

  int descriptor() const { return fileno(file_.get()); }

  std::string Text() const {
    std::string text;
    std::rewind(file_.get());
    char buffer[65536];
    while (const std::size_t count =
               std::fread(buffer, 1, sizeof buffer, file_.get())) {
      text.append(buffer, count);
    }
    return text;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace

Outcome Podsim(const std::vector<std::string>& args,
               const std::filesystem::path& folder) {
  std::vector<char*> argv = {const_cast<char*>("podsim")};
  for (const std::string& arg : args) {
    argv.push_back(const_cast<char*>(arg.c_str()));
  }
  argv.push_back(nullptr);
  const Capture out;
  const Capture err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, PODSIM_BINARY, &actions, nullptr,
                                argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE(error == 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          out.Text(), err.Text()};
}

std::vector<std::string> Words(const std::string& line) {
  std::vector<std::string> words;
  bool quoted = false;
  bool inside = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if ((c == ' ' || c == '\n') && !quoted) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c != '"') words.back() += c;
  }
  REQUIRE_FALSE(quoted);
  return words;
}

nlohmann::ordered_json PodsimJson(const std::vector<std::string>& args,
                                  const std::filesystem::path& folder) {
  const Outcome outcome = Podsim(args, folder);
  CAPTURE(args);
  REQUIRE(outcome.err == "");
  REQUIRE(outcome.status == 0);
  return nlohmann::ordered_json::parse(outcome.out);
}

TemporaryFolder::TemporaryFolder() {
  std::string name =
      (std::filesystem::temp_directory_path() / "podsim-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TemporaryFolder::Write(const std::string& name,
                            const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
}

std::string TemporaryFolder::Read(const std::string& name) const {
  return ReadFile(path_ / name);
}

std::vector<std::string> TemporaryFolder::List() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  CAPTURE(path);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace podsim
