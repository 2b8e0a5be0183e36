#ifndef PODSIM_BASE_TEXT_FILE_H_
#define PODSIM_BASE_TEXT_FILE_H_

#include <string>

namespace podsim {

// The bytes of a file. Throws InputError naming it if it cannot be read.
std::string ReadTextFile(const std::string& path);

}  // namespace podsim

#endif  // PODSIM_BASE_TEXT_FILE_H_
