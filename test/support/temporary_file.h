#ifndef PODSIM_TEST_SUPPORT_TEMPORARY_FILE_H_
#define PODSIM_TEST_SUPPORT_TEMPORARY_FILE_H_

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace podsim {

// A file of this process and name, removed at the end.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("podsim-" + std::to_string(getpid()) + "-" + name)) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace podsim

#endif  // PODSIM_TEST_SUPPORT_TEMPORARY_FILE_H_
