#include "sim/byte_range.h"

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"

namespace podsim {
namespace {

std::string Trim(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

void AddRange(const std::string& text, std::size_t dots,
              const std::string& where, std::vector<Bytes>& sizes) {
  std::string end = text.substr(dots + 2);
  int factor = 2;
  if (const auto times = end.find('x'); times != std::string::npos) {
    factor = ParseCount(Trim(end.substr(times + 1)), 2, 1 << 20, where);
    end = end.substr(0, times);
  }
  const Bytes first = ParseBytes(Trim(text.substr(0, dots)), where);
  const Bytes last = ParseBytes(Trim(end), where);
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
    if (const auto dots = entry.find(".."); dots != std::string::npos) {
      AddRange(Trim(entry), Trim(entry).find(".."), where, sizes);
    } else {
      sizes.push_back(ParseBytes(Trim(entry), where));
    }
  }
  return sizes;
}

}  // namespace podsim
