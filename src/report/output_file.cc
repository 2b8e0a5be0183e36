#include "report/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace podsim {

OutputFile::OutputFile(std::string path, std::string where)
    : path_(std::move(path)), where_(std::move(where)) {
  if (path_ == "-") return;
  struct stat status {};
  const bool exists = stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    throw InputError(where_, "is a directory, expected a file to write");
  }
  // Devices and pipes are written in place.
  const bool in_place = exists && !S_ISREG(status.st_mode);
  if (in_place) {
    file_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary_ = path_ + ".tmp-" + std::to_string(getpid());
    file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                 exists ? status.st_mode & 0777 : 0666);
  }
  if (file_ < 0) {
    temporary_.clear();
    Fail("cannot be written");
  }
}

OutputFile::~OutputFile() {
  if (file_ >= 0) close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
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
  if (close(file_) != 0) Fail("cannot be written");
  file_ = -1;
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    Fail("cannot be replaced");
  }
  temporary_.clear();
}

}  // namespace podsim
