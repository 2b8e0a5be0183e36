#ifndef PODSIM_WORKLOAD_CHAKRA_ATTRIBUTE_H_
#define PODSIM_WORKLOAD_CHAKRA_ATTRIBUTE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "workload/chakra.h"

namespace podsim {

// An attribute of a node in any encoding: a number of any type (writers differ
// in them), a text, or bools.
struct ChakraAttribute {
  std::string name;
  std::string text;
  std::optional<double> real;
  std::optional<std::int64_t> number;
  std::vector<bool> bools;
};

// Sets what the attribute says of the node; names that mean nothing to us are
// ignored. Throws InputError{where(), ..} for a value of another type and for
// negative sizes.
void ApplyAttribute(const ChakraAttribute& attribute,
                    const std::function<std::string()>& where,
                    ChakraNode& node);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_CHAKRA_ATTRIBUTE_H_
