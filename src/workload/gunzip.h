#ifndef PODSIM_WORKLOAD_GUNZIP_H_
#define PODSIM_WORKLOAD_GUNZIP_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace podsim {

// Whether the bytes begin as a gzip file does (RFC 1952).
bool IsGzip(std::string_view bytes);

// What a gzip file holds; of several members all, one after another. Throws
// InputError{file, ..} for data that is damaged or cut off, and for more than
// `most` bytes.
std::string Gunzip(std::string_view bytes, std::size_t most,
                   const std::string& file);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_GUNZIP_H_
