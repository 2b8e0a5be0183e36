#ifndef PODSIM_BASE_EMBEDDED_FILE_H_
#define PODSIM_BASE_EMBEDDED_FILE_H_

#include <string_view>

namespace podsim {

// One file of the sources, compiled into the binary (cmake/EmbedFiles.cmake).
struct EmbeddedFile {
  std::string_view name;  // "topologies/v5p.json"
  std::string_view text;
};

}  // namespace podsim

#endif  // PODSIM_BASE_EMBEDDED_FILE_H_
