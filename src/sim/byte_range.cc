#include "sim/byte_range.h"

#include <optional>

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"

namespace podsim {
namespace {

constexpr int kMaxFactor = 1 << 20;

std::string Trim(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// "FIRST..LAST" or "FIRST..LAST xFACTOR".
void AddRange(const std::string& text, std::size_t dots,
              const std::string& where, std::vector<Bytes>& sizes) {
  const std::string begin = Trim(text.substr(0, dots));
  std::string end = text.substr(dots + 2);
  std::optional<std::string> factor_text;
  if (const auto times = end.find('x'); times != std::string::npos) {
    factor_text = Trim(end.substr(times + 1));
    end = end.substr(0, times);
  }
  end = Trim(end);
  if (begin.empty() || end.empty()) {
    throw InputError(where, "the range \"" + text +
                                "\" has only one end; write for example "
                                "\"1KiB..4GiB\" or \"1KiB..64MiB x4\"");
  }
  const int factor =
      factor_text ? ParseCount(*factor_text, 2, kMaxFactor,
                               where + ": the factor of \"" + text + "\"")
                  : 2;
  const Bytes first = ParseBytes(begin, where);
  const Bytes last = ParseBytes(end, where);
  if (first.value() == 0) {
    throw InputError(where, "a range cannot start at 0B, got \"" + text + "\"");
  }
  if (last < first) {
    throw InputError(where, "the range \"" + text +
                                "\" runs backwards; write the smaller size "
                                "first");
  }
  for (Bytes size = first; size <= last; size = factor * size) {
    sizes.push_back(size);
    if (size.value() > last.value() / factor) break;
  }
}

}  // namespace

std::vector<Bytes> ParseByteList(const std::string& text,
                                 const std::string& where) {
  std::vector<Bytes> sizes;
  for (const std::string& entry : Split(text, ',')) {
    const std::string size = Trim(entry);
    if (size.empty() && !Trim(text).empty()) {
      throw InputError(where, "an entry of \"" + text + "\" is empty");
    }
    if (const auto dots = size.find(".."); dots != std::string::npos) {
      AddRange(size, dots, where, sizes);
    } else {
      sizes.push_back(ParseBytes(size, where));
    }
  }
  return sizes;
}

}  // namespace podsim
