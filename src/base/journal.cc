#include "base/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include "base/checksum.h"
#include "base/error.h"
#include "base/text.h"
#include "base/text_file.h"

namespace podsim {
namespace {

constexpr char kFormat[] = "podsim-journal/1";

// --- Lines: CHECKSUM KEY TAB TEXT, with \\ \n \t \0 escaped.

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '\\':
        escaped += "\\\\";
        break;
      case '\n':
        escaped += "\\n";
        break;
      case '\t':
        escaped += "\\t";
        break;
      case '\0':
        escaped += "\\0";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string Unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] != '\\' || k + 1 == text.size()) {
      plain += text[k];
      continue;
    }
    const char c = text[++k];
    plain += c == 'n' ? '\n' : c == 't' ? '\t' : c == '0' ? '\0' : c;
  }
  return plain;
}

std::string LineOf(const Journal::Record& record) {
  const std::string body = Escaped(record.key) + '\t' + Escaped(record.text);
  return Hex(Fnv1a(body)) + ' ' + body + '\n';
}

// `line` without its end; nullopt if it is damaged.
std::optional<Journal::Record> RecordOf(const std::string& line) {
  const auto space = line.find(' ');
  if (space == std::string::npos) return std::nullopt;
  const std::string body = line.substr(space + 1);
  if (line.substr(0, space) != Hex(Fnv1a(body))) return std::nullopt;
  const auto tab = body.find('\t');
  if (tab == std::string::npos) return std::nullopt;
  return Journal::Record{.key = Unescaped(body.substr(0, tab)),
                         .text = Unescaped(body.substr(tab + 1))};
}

// Another build may time a point otherwise: never mix their records.
std::string HeadOf(const std::string& kind) {
  static const std::string program = Hex(Fnv1a(ReadTextFile("/proc/self/exe")));
  return std::string(kFormat) + " program=" + program + " " + kind + "\n";
}

// --- Interrupts. Handlers may use only what is here: plain memory and write.

constexpr std::array<int, 3> kInterrupts = {SIGINT, SIGTERM, SIGHUP};
char message[4096];  // "": no journal is open
pid_t owner = 0;     // not its children
std::array<void (*)(int), kInterrupts.size()> handlers_before = {};

void SayHowToContinue(int signal) {
  if (getpid() == owner) {
    const ssize_t ignored = write(STDERR_FILENO, message, std::strlen(message));
    static_cast<void>(ignored);
  }
  for (std::size_t k = 0; k < kInterrupts.size(); ++k) {
    if (kInterrupts[k] == signal) std::signal(signal, handlers_before[k]);
  }
  std::raise(signal);
}

void WatchInterrupts(const std::string& path) {
  const std::string text =
      "\npodsim: interrupted; finished points are kept in " + path +
      ", and the same command with --resume continues\n";
  if (text.size() >= sizeof(message)) return;
  std::strcpy(message, text.c_str());
  owner = getpid();
  for (std::size_t k = 0; k < kInterrupts.size(); ++k) {
    handlers_before[k] = std::signal(kInterrupts[k], SayHowToContinue);
    if (handlers_before[k] == SIG_IGN) {
      std::signal(kInterrupts[k], SIG_IGN);  // as nohup wants it
    }
  }
}

void UnwatchInterrupts() {
  if (message[0] == 0) return;
  message[0] = 0;
  for (std::size_t k = 0; k < kInterrupts.size(); ++k) {
    std::signal(kInterrupts[k], handlers_before[k]);
  }
}

}  // namespace

Journal::Journal(std::string path, const std::string& kind, Mode mode)
    : path_(std::move(path)) {
  const int fresh = mode == Mode::kNew ? O_EXCL : 0;
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | fresh,
               0666);
  if (file_ < 0 && errno == EEXIST) {
    throw InputError(path_,
                     "holds the finished points of an interrupted run; add "
                     "--resume to continue it, or remove the file to begin "
                     "again");
  }
  if (file_ < 0) Fail("cannot be written");
  try {
    Lock();
    Read(HeadOf(kind));
  } catch (...) {
    close(file_);
    throw;
  }
  WatchInterrupts(path_);
}

Journal::~Journal() {
  UnwatchInterrupts();
  if (file_ >= 0) close(file_);
}

void Journal::Fail(const std::string& what) const {
  throw InputError(path_, what + ": " + std::strerror(errno));
}

// Of the process: forked children do not hold it, and it dies with its owner.
void Journal::Lock() const {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(file_, F_SETLK, &lock) == 0) return;
  if (errno == EAGAIN || errno == EACCES) {
    throw InputError(path_,
                     "is in use by another process; wait until it has ended, "
                     "or give this run another output");
  }
  if (errno != ENOLCK && errno != EINVAL) Fail("cannot be locked");
}

// By the descriptor that is locked: closing another would end the lock.
std::string Journal::ReadAll() const {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t count = pread(file_, buffer.data(), buffer.size(),
                                static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) Fail("cannot be read");
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

void Journal::Read(const std::string& head) {
  const std::string text = ReadAll();
  const auto whole = text.rfind('\n') + 1;  // 0 if there is none
  if (whole < text.size()) {
    if (ftruncate(file_, static_cast<off_t>(whole)) != 0) Fail("cannot be cut");
    ++dropped_;
  }
  if (whole == 0) {
    AppendAll(head);
    return;
  }
  std::size_t at = text.find('\n') + 1;
  if (text.substr(0, at) != head) {
    throw InputError(
        path_ + ":1",
        "is of another build of podsim or of other output flags; "
        "expected \"" +
            head.substr(0, head.size() - 1) + "\", got \"" +
            Shortened(text.substr(0, at - 1), 80) +
            "\"; use those of then, or remove the file to begin again");
  }
  while (at < whole) {
    const auto end = text.find('\n', at);
    auto record = RecordOf(text.substr(at, end - at));
    if (record) records_.push_back(*std::move(record));
    if (!record) ++dropped_;
    at = end + 1;
  }
}

void Journal::Append(const Record& record) { AppendAll(LineOf(record)); }

void Journal::AppendAll(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written =
        write(file_, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Fail("cannot be written");
    done += static_cast<std::size_t>(written);
  }
}

void Journal::Remove() {
  if (unlink(path_.c_str()) != 0) Fail("cannot be removed");
  UnwatchInterrupts();
}

}  // namespace podsim
