#ifndef PODSIM_TOPOLOGY_GENERATION_H_
#define PODSIM_TOPOLOGY_GENERATION_H_

#include <string>
#include <vector>

#include "base/json_reader.h"
#include "topology/parameters.h"

namespace podsim {

// Which shapes of slices exist and which of their axes wrap.
enum class ShapeRule {
  kCubes,   // sub-cubes of {1,2,4} (meshes, but 4x4x4 wraps), or multiples of 4
  kListed,  // a list of 2D shapes; an axis of `wrap_size` wraps
  kGrid,    // anything up to `max_shape`; an axis of full size wraps
  kAny,     // no rule; axes longer than 2 wrap
};

struct GenerationParameter {
  std::string key;
  std::string value;  // text with unit
  std::string source;
  std::string confidence;
};

// One file topologies/GEN.json (podsim-generation/1).
struct Generation {
  std::string name;
  std::string description;
  bool estimated = false;  // some numbers are guesses; output says so
  int axes = 0;
  ShapeRule rule = ShapeRule::kAny;
  int max_chips = 0;
  int warn_above_chips = 0;              // 0: never
  std::vector<std::vector<int>> shapes;  // kListed
  int wrap_size = 0;                     // kListed
  std::vector<int> max_shape;            // kGrid
  std::string shape_source;
  std::vector<int> host_shape;  // empty: not known
  std::vector<GenerationParameter> facts;
  Parameters parameters;
};

Generation ReadGeneration(const JsonValue& json);

// The embedded generations in order v2 .. ideal.
const std::vector<Generation>& BuiltInGenerations();

// By name ("v5p"), or, when `name` ends in .json, from that file. Throws
// InputError{where, ..} naming the known ones.
Generation FindGeneration(const std::string& name, const std::string& where);

}  // namespace podsim

#endif  // PODSIM_TOPOLOGY_GENERATION_H_
