#ifndef PODSIM_SCHEDULE_MSCCL_XML_H_
#define PODSIM_SCHEDULE_MSCCL_XML_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/chunk_parties.h"
#include "schedule/schedule.h"
#include "topology/slice.h"

namespace podsim {

// What a step does, in this order: takes the next message of its threadblock's
// connection, adds the local source to it, stores the outcome at the
// destination, passes it on. A local step has no messages.
struct MscclStepType {
  const char* name;
  bool receives = false;
  bool reduces = false;
  bool stores = false;
  bool sends = false;

  bool local() const { return stores && !receives; }  // cpy and re
  bool empty() const { return !stores && !receives && !sends; }
};

std::span<const MscclStepType> MscclStepTypes();
// nullptr: MSCCL has none of that name.
const MscclStepType* FindMscclStepType(const std::string& name);

// First chunk of a buffer: 'i'nput, 'o'utput or 's'cratch.
struct MscclPlace {
  char buffer = 'i';
  int offset = 0;
};

struct MscclStep {
  const MscclStepType* type = nullptr;
  MscclPlace source;
  MscclPlace destination;
  int count = 0;
  int dep_threadblock = -1;  // waits for that step of it; -1: for none
  int dep_step = -1;
  bool has_dep = false;  // a step waits for this one
  int line = 0;
  // Ours: goes on with the message of the step before; waits only lest two adds
  // meet; links of a message; of a local add.
  bool joined = false;
  bool apart = false;
  std::string route;
  double seconds = 0;
};

struct MscclThreadblock {
  int send = -1;  // peers; -1: none
  int receive = -1;
  int channel = 0;
  int line = 0;
  std::vector<MscclStep> steps;
};

// Input chunk to output chunk, before the first step.
struct MscclCopy {
  int input;
  int output;
  int line;
};

struct MscclGpu {
  int i_chunks = 0;
  int o_chunks = 0;
  int s_chunks = 0;
  int line = 0;
  std::optional<int> chip;  // ours; else the gpu's id
  std::vector<MscclCopy> copies;
  std::vector<MscclThreadblock> threadblocks;
};

// An algorithm as its file states it, every number in its range. `gpus` are
// those of ids 0, 1, ...
struct MscclAlgorithm {
  std::string file;
  std::string name;
  std::string protocol;
  const KindParties* kind = nullptr;
  int channels = 0;
  int chunks_per_loop = 0;
  bool in_place = false;
  std::optional<std::int64_t> min_bytes, max_bytes;
  int line = 0;
  std::vector<MscclGpu> gpus;
  // Ours: what MSCCL leaves to its caller.
  std::string slice;
  std::optional<std::int64_t> bytes;
  std::optional<int> root;         // gpu
  std::vector<Bytes> chunk_sizes;  // empty: the payload, split evenly

  // "file:line" for messages.
  std::string At(int at_line) const {
    return file + ":" + std::to_string(at_line);
  }
};

// Chunks of the buffers that a kind needs, per gpu: those of the input hold the
// operand, those of the output the result.
struct MscclBuffers {
  int input;
  int output;
};
MscclBuffers BuffersOf(const std::string& kind, int chunks_per_loop, int gpus);

// Throws InputError{"file:line", ..} for steps of this gpu that wait for none
// there is, and for two threadblocks at one end of a connection.
void CheckMscclGpu(const MscclAlgorithm& algorithm, int id);

// The kinds that MSCCL has, and its word for each.
struct MscclCollective {
  const char* coll;
  const char* kind;
};
inline constexpr std::array kMscclCollectives = {
    MscclCollective{"allreduce", "all-reduce"},
    MscclCollective{"allgather", "all-gather"},
    MscclCollective{"reduce_scatter", "reduce-scatter"},
    MscclCollective{"alltoall", "all-to-all"},
    MscclCollective{"broadcast", "broadcast"},
    MscclCollective{"reduce", "reduce"}};

// Parses and checks each attribute. Throws InputError{"file:line", ..}, for
// syntax {"file:line:column", ..}.
MscclAlgorithm ReadMscclXml(const std::string& path);

// A schedule as one MSCCL algorithm; docs/formats.md has the mapping. Throws
// InputError{where, ..} for what MSCCL has no words for.
MscclAlgorithm MakeMscclAlgorithm(const Schedule& schedule,
                                  const CollectiveMeaning& meaning,
                                  const Slice& slice, const std::string& where);

// Writes what MakeMscclAlgorithm makes, piece by piece.
void WriteMscclXml(const MscclAlgorithm& algorithm,
                   const std::function<void(const std::string&)>& write);

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_MSCCL_XML_H_
