#ifndef PODSIM_SCHEDULE_MSCCL_MEANING_H_
#define PODSIM_SCHEDULE_MSCCL_MEANING_H_

#include <optional>
#include <string>
#include <vector>

#include "schedule/msccl_xml.h"
#include "schedule/schedule.h"
#include "topology/slice.h"

namespace podsim {

// What an MSCCL file leaves to its caller: the slice (--slice, else the file's,
// else ideal:N with a warning in it), and what must be computed there. The
// payload is `given`, else the file's, else 1MiB moved into minBytes..maxBytes,
// with a warning. Throw InputError at the line of the file.
Slice MscclSlice(const MscclAlgorithm& algorithm, SliceRequest request);
CollectiveMeaning MscclMeaning(const MscclAlgorithm& algorithm,
                               const Slice& slice, std::optional<Bytes> given,
                               std::vector<std::string>& warnings);

// The chunk that the k-th input slot of a gpu holds at first, and that its k-th
// output slot must hold in the end; nullopt: none.
std::optional<std::uint32_t> MscclInputChunk(const MscclAlgorithm& algorithm,
                                             std::uint32_t root, int gpu,
                                             int k);
std::optional<std::uint32_t> MscclOutputChunk(const MscclAlgorithm& algorithm,
                                              std::uint32_t root, int gpu,
                                              int k);

}  // namespace podsim

#endif  // PODSIM_SCHEDULE_MSCCL_MEANING_H_
