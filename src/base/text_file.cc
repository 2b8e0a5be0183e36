#include "base/text_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/error.h"

namespace podsim {

std::string ReadTextFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw InputError(path, "is a directory, expected a file");
  }
  const auto fail = [&path](int error) {
    throw InputError(
        path, "cannot be read: " + std::generic_category().message(error));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) fail(errno);
  std::string text;
  std::array<char, 65536> buffer;
  while (const std::size_t count =
             std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    text.append(buffer.data(), count);
  }
  if (std::ferror(file.get()) != 0) fail(errno);
  return text;
}

}  // namespace podsim
