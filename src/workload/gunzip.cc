#include "workload/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/error.h"

namespace podsim {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib.h, inflateInit2
constexpr std::size_t kPiece = 1u << 16;   // bytes inflated at a time

class Inflater {
 public:
  explicit Inflater(std::string_view bytes) {
    CHECK(inflateInit2(&stream_, kGzipOnly) == Z_OK);
    // zlib reads only; its interface is older than const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  z_stream& stream() { return stream_; }

 private:
  z_stream stream_ = {};
};

}  // namespace

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string Gunzip(std::string_view bytes, std::size_t most,
                   const std::string& file) {
  Inflater inflater(bytes);
  z_stream& stream = inflater.stream();
  std::string text;
  std::size_t left = bytes.size();  // that zlib was not told of
  for (bool ended = false; !ended || left + stream.avail_in > 0;) {
    if (ended) inflateReset(&stream);
    const std::size_t given = std::min<std::size_t>(
        left, std::numeric_limits<uInt>::max() - stream.avail_in);
    stream.avail_in += static_cast<uInt>(given);
    left -= given;
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + before);
    stream.avail_out = kPiece;
    const int status = inflate(&stream, Z_NO_FLUSH);
    text.resize(text.size() - stream.avail_out);
    if (text.size() > most) {
      throw InputError(
          file, "unpacks to more than " + std::to_string(most) + " bytes");
    }
    ended = status == Z_STREAM_END;
    if (ended || status == Z_OK) continue;
    const std::size_t at = bytes.size() - left - stream.avail_in;
    if (status == Z_BUF_ERROR) {
      throw InputError(
          file, "the gzip data is cut off at byte " + std::to_string(at));
    }
    throw InputError(
        file, "byte " + std::to_string(at) + ": the gzip data is damaged" +
                  (stream.msg != nullptr ? std::string(": ") + stream.msg
                                         : std::string()));
  }
  return text;
}

}  // namespace podsim
