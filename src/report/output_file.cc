#include "report/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace podsim {
namespace {

std::string FolderOf(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Where a file without a name cannot be had, an interrupt unlinks the named
// one. Signal handlers may use only what is here: plain memory and unlink.
constexpr int kMostNamed = 16;
char named_files[kMostNamed][4096];  // "": free
pid_t owner = 0;                     // not its children

void UnlinkNamed(int signal) {
  for (const auto& name : named_files) {
    if (name[0] != 0 && getpid() == owner) unlink(name);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void UnlinkOnInterrupt(const std::string& path) {
  for (auto& name : named_files) {
    if (name[0] != 0 || path.size() >= sizeof(name)) continue;
    owner = getpid();
    std::strcpy(name, path.c_str());
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      if (std::signal(signal, UnlinkNamed) == SIG_IGN) {
        std::signal(signal, SIG_IGN);  // as nohup wants it
      }
    }
    return;
  }
}

void Forget(const std::string& path) {
  for (auto& name : named_files) {
    if (path == name) name[0] = 0;
  }
}

}  // namespace

OutputFile::OutputFile(std::string path, std::string where)
    : path_(std::move(path)), where_(std::move(where)) {
  if (path_ == "-") return;
  struct stat status {};
  const bool exists = stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    throw InputError(where_, "is a directory, expected a file to write");
  }
  // Devices and pipes are written in place.
  if (exists && !S_ISREG(status.st_mode)) {
    file_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    in_place_ = true;
  } else {
    const mode_t mode = exists ? status.st_mode & 0777 : 0666;
    temporary_ = path_ + ".tmp-" + std::to_string(getpid());
    // Without a name if the file system can: then an interrupt leaves nothing.
    file_ =
        open(FolderOf(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (file_ < 0) {
      file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                   mode);
      named_ = file_ >= 0;
      if (named_) UnlinkOnInterrupt(temporary_);
    }
  }
  if (file_ < 0) Fail("cannot be written");
}

OutputFile::~OutputFile() {
  if (file_ >= 0) close(file_);
  if (!named_) return;
  unlink(temporary_.c_str());
  Forget(temporary_);
}

void OutputFile::Fail(const std::string& what) const {
  throw InputError(where_, what + ": " + std::strerror(errno));
}

void OutputFile::Write(const std::string& text) {
  if (path_ == "-") {
    pending_ += text;
    return;
  }
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written =
        write(file_, text.data() + done, text.size() - done);
    if (written < 0) {
      if (errno == EINTR) continue;
      Fail("cannot be written");
    }
    done += static_cast<std::size_t>(written);
  }
}

void OutputFile::Commit() {
  if (path_ == "-") {
    std::fwrite(pending_.data(), 1, pending_.size(), stdout);
    pending_.clear();
    return;
  }
  if (!in_place_ && !named_) {
    const std::string open_file = "/proc/self/fd/" + std::to_string(file_);
    if (linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, temporary_.c_str(),
               AT_SYMLINK_FOLLOW) != 0) {
      Fail("cannot be written");
    }
    named_ = true;
  }
  const int closed = close(file_);
  file_ = -1;
  if (closed != 0) Fail("cannot be written");
  if (in_place_) return;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    Fail("cannot be replaced");
  }
  named_ = false;
  Forget(temporary_);
}

}  // namespace podsim
