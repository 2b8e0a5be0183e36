#ifndef PODSIM_WORKLOAD_CHAKRA_H_
#define PODSIM_WORKLOAD_CHAKRA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podsim {

// Chakra execution traces (mlcommons/chakra, schema/protobuf/et_def.proto): one
// file per rank, the metadata and then the nodes, each after its length.
enum class ChakraNodeType : std::uint8_t {
  kInvalid,
  kMetadata,
  kMemLoad,
  kMemStore,
  kComp,
  kCommSend,
  kCommRecv,
  kCommColl,
};
const char* ToText(ChakraNodeType type);  // "COMM_SEND"

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name = {};
  ChakraNodeType type = ChakraNodeType::kInvalid;
  std::vector<std::uint64_t> ctrl_deps = {};  // ids, of later nodes too
  std::vector<std::uint64_t> data_deps = {};
  std::uint64_t duration_us = 0;
  bool is_cpu_op = false;
  std::optional<std::int64_t> num_ops = {};      // FLOPs
  std::optional<std::int64_t> tensor_size = {};  // bytes accessed
  std::optional<std::int64_t> comm_type = {};    // CollectiveCommType
  std::optional<std::int64_t> comm_size = {};    // bytes
  std::optional<std::int64_t> comm_src = {};
  std::optional<std::int64_t> comm_dst = {};
  std::int64_t comm_tag = 0;
  std::string pg_name = {};               // "" or "0": all ranks
  std::vector<bool> involved_dim = {};    // empty: all
  std::optional<double> duration_s = {};  // ours: what microseconds round
  std::string inputs = {};                // of METADATA: inputs.values
  std::string where = {};                 // "file: byte 17" or JSON pointer
};

// A process group, by the name that pg_name of nodes has.
struct ChakraGroup {
  std::string name;
  std::vector<std::int64_t> ranks;  // in rank order; empty: all
  std::string where;
};

struct ChakraTrace {
  std::string file;
  std::string version;            // or the attribute "schema" of the metadata
  std::vector<ChakraNode> nodes;  // in file order
  std::vector<ChakraGroup> groups = {};  // that its METADATA nodes list
};

// "ALL_REDUCE", ..; nullptr for unknown numbers.
const char* ChakraCommName(std::int64_t comm_type);

// The trace in `bytes`: protobuf, or the JSON of Chakra's feeder or of its
// jsonizer; all may be gzip files. Throws InputError at the byte or pointer of
// whatever is wrong: cut messages, unknown node types, ids that stand twice.
ChakraTrace ParseChakra(std::string_view bytes, const std::string& file);

// By its name, NAME.et.
bool IsChakraName(const std::string& path);
// Also NAME.json with such JSON in it. Throws InputError if that cannot be
// read.
bool IsChakraFile(const std::string& path);

// The traces of all ranks of PREFIX.0.et or PREFIX.0.json, as many as there are
// from rank 0 on. `path`: that of any rank. Throws InputError.
std::vector<ChakraTrace> ReadChakra(const std::string& path);

// Whether a JSON text is a trace, by its keys, and nothing of podsim's: for
// the feeder {"workload_graph": [..]}; as chakra_jsonizer writes it the
// metadata
// {"version", "attr"} and each node, one object after another; or a trace of
// PyTorch, which is refused with a hint.
bool IsChakraJson(const std::string& text);

// Reads such texts; checks as ParseChakra. For ParseChakra.
ChakraTrace ParseChakraJson(const std::string& text, const std::string& file);

// The groups in inputs.values of a METADATA node, which has the JSON
// [{"pg_name": "1", "ranks": [0, 1]}] in quotes or brackets of its own; none if
// it is of something else. Throws InputError{where, ..}.
std::vector<ChakraGroup> ParseChakraGroups(const std::string& inputs,
                                           const std::string& where);

// A file of groups as ASTRA-sim has it: {"1": [0, 1], "2": [2, 3]}.
std::vector<ChakraGroup> ReadChakraGroups(const std::string& path);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_CHAKRA_H_
