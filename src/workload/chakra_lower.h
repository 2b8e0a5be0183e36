#ifndef PODSIM_WORKLOAD_CHAKRA_LOWER_H_
#define PODSIM_WORKLOAD_CHAKRA_LOWER_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "schedule/schedule_file.h"
#include "workload/chakra.h"
#include "workload/workload.h"

namespace podsim {

// The kind of what a trace of messages means.
inline constexpr char kMessages[] = "messages";

// Whether the traces are messages (COMM_SEND, COMM_RECV) and not collectives.
bool HasMessages(const std::vector<ChakraTrace>& traces);

// For each node the positions of those its data_deps name. Throws InputError
// for ids of no node.
std::vector<std::vector<std::size_t>> DataDeps(const ChakraTrace& trace);

// What a COMP node takes: its duration, else the roofline of its num_ops
// (FLOPs, bf16) and tensor_size (bytes); what MEM_LOAD and MEM_STORE take of
// HBM. Nodes of the CPU and others take nothing.
Seconds ChakraDuration(const ChakraNode& node, const Parameters& parameters);

// Whether it is a MEM_LOAD or MEM_STORE of the chip, and what that moves, its
// tensor_size. Throws InputError where that is missing.
bool IsChakraMemory(const ChakraNode& node);
Bytes ChakraMemoryBytes(const ChakraNode& node);

// The messages of all ranks, rank = chip, by minimal routes. COMM_SEND and
// COMM_RECV meet by (src, dst, tag), first come first served in file order; a
// message starts when what its COMM_SEND waits for has ended, and so do a COMP
// and the accesses of MEM_LOAD and MEM_STORE to HBM. ctrl_deps are ignored, as
// the feeder of ASTRA-sim does. It has no meaning that could be proved: kind
// kMessages, without chunks. Throws InputError for messages without a partner,
// cycles, and collectives among them.
ScheduleFile MakeChakraSchedule(const std::vector<ChakraTrace>& traces,
                                const SliceRequest& request);

// The step of traces without messages, the same on every rank: COMP nodes, and
// COMM_COLL nodes and accesses to memory, by DMA, both waited for by the first
// node that needs them. `communicators`: groups that the traces do not list.
// Throws InputError where ranks differ and for what a step cannot say.
Workload MakeChakraWorkload(const std::vector<ChakraTrace>& traces,
                            const WorkloadRequest& request,
                            std::span<const ChakraGroup> communicators = {});

// The trace of one rank of a schedule: COMM_SEND and COMM_RECV of a transfer
// have its op id as tag, computes and adds are COMP. Routes, chunks and modes
// are not written. Throws InputError{where, ..} for an op that waits for what
// its sender neither sends, receives nor computes.
std::string ChakraText(const Schedule& schedule, ChipId rank,
                       const std::string& where);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_CHAKRA_LOWER_H_
