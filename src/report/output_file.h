#ifndef PODSIM_REPORT_OUTPUT_FILE_H_
#define PODSIM_REPORT_OUTPUT_FILE_H_

#include <string>

namespace podsim {

// A file that is opened before the long work and replaced atomically after it:
// text goes to a temporary file beside `path`, which Commit moves over it.
// Without Commit nothing changes. "-" is stdout, written on Commit.
class OutputFile {
 public:
  // Throws InputError{where, ..} if `path` cannot be written.
  OutputFile(std::string path, std::string where);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void Write(const std::string& text);
  void Commit();

 private:
  [[noreturn]] void Fail(const std::string& what) const;

  std::string path_;
  std::string where_;
  std::string temporary_;  // name until it is moved over path_
  std::string pending_;    // of stdout
  int file_ = -1;
  bool named_ = false;     // temporary_ exists
  bool in_place_ = false;  // no regular file
};

}  // namespace podsim

#endif  // PODSIM_REPORT_OUTPUT_FILE_H_
