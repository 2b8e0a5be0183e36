#ifndef PODSIM_BASE_JOURNAL_H_
#define PODSIM_BASE_JOURNAL_H_

#include <cstddef>
#include <string>
#include <vector>

namespace podsim {

// An append-only file that keeps finished work through a kill at any moment:
// one line per record, each with a checksum, behind a head that names the
// program and what the records are of. Appended in one write, not synced: what
// the process wrote survives its death, though not a power cut; a torn line
// is found by its checksum either way.
class Journal {
 public:
  enum class Mode { kNew, kResume };

  // kNew: throws if the file exists, with the remedy; kResume reads it if it
  // does, and drops a torn last line. `kind` says what texts the records hold:
  // one of another kind, or of another build of this program, is refused. So
  // is a journal that a living process has open. Until Remove, SIGINT, SIGTERM
  // and SIGHUP say on stderr what to do to continue; then they do what they
  // did before. All errors are InputErrors naming the file.
  Journal(std::string path, const std::string& kind, Mode mode);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  struct Record {
    std::string key;
    std::string text;
  };
  const std::vector<Record>& records() const { return records_; }
  // Lines that were torn or damaged, and are lost.
  std::size_t dropped() const { return dropped_; }
  const std::string& path() const { return path_; }

  // Throws InputError if the line cannot be written whole.
  void Append(const Record& record);
  // The work is done, and elsewhere.
  void Remove();

 private:
  void Lock() const;
  std::string ReadAll() const;
  void AppendAll(const std::string& text);
  // What stood in the file; cuts off what follows the last whole line.
  void Read(const std::string& head);
  [[noreturn]] void Fail(const std::string& what) const;

  std::string path_;
  int file_ = -1;
  std::vector<Record> records_;
  std::size_t dropped_ = 0;
};

}  // namespace podsim

#endif  // PODSIM_BASE_JOURNAL_H_
