#include "sim/run_engine.h"

#include <cmath>

#include "base/check.h"
#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"
#include "engine/reference.h"
#include "sim/lost_ops.h"
#include "sim/memory_guard.h"

namespace podsim {
namespace {

// More steps of packets from link to link take many minutes.
constexpr double kMostHops = 2e9;
// Packets of several hops may all be on their way at once.
constexpr double kBytesPerPacket = 40;

void RequireOneHop(const Schedule& schedule) {
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    if (schedule.kind(OpId(op)) != OpKind::kTransfer) continue;
    const std::size_t hops = schedule.route(OpId(op)).size();
    if (hops == 1) continue;
    throw InputError("--network fifo",
                     "op " + std::to_string(op) + " sends over " +
                         std::to_string(hops) +
                         " hops; it serves transfers of one hop only; use "
                         "--network packet or fluid, or another lowering");
  }
}

void RequireFewPackets(const Schedule& schedule, const SimOptions& options) {
  double packets = 0, hops = 0;
  for (std::uint32_t id = 0; id < schedule.size(); ++id) {
    const OpId op(id);
    if (schedule.kind(op) != OpKind::kTransfer) continue;
    const double count =
        std::ceil(static_cast<double>(schedule.bytes(op).value()) /
                  static_cast<double>(options.network.packet));
    hops += count * static_cast<double>(schedule.route(op).size());
    if (schedule.route(op).size() > 1) packets += count;
  }
  const std::string remedy =
      "take larger packets (--network packet:size=1MiB), or --network fluid";
  if (hops > kMostHops) {
    throw InputError("--network packet",
                     "packets of " + ToText(Bytes(options.network.packet)) +
                         " go over " + Significant(hops, 3) +
                         " links in all, more than the " +
                         Significant(kMostHops, 3) +
                         " that this version simulates one by one; " + remedy);
  }
  RequireMemory(static_cast<std::uint64_t>(packets), options,
                "--network packet", remedy, kBytesPerPacket);
}

Timeline Run(const Schedule& schedule, const Network& network,
             const SimOptions& options) {
  CHECK(options.engine != EngineKind::kBound);
  const NetworkKind kind = options.network.kind;
  if (options.engine == EngineKind::kReference && kind != NetworkKind::kFluid) {
    throw InputError("--engine reference",
                     "stock SimGrid knows only --network fluid, got " +
                         ToText(options.network) + "; use --engine pod");
  }
  if (kind == NetworkKind::kFifo && !schedule.one_hop()) {
    RequireOneHop(schedule);
  }
  if (kind == NetworkKind::kPacket) RequireFewPackets(schedule, options);
  if (options.engine == EngineKind::kPod) {
    return RunPod(schedule, network, options.watch);
  }
  if (schedule.transfers() > kMostReferenceTransfers && !options.force) {
    throw InputError(
        "--engine reference",
        std::to_string(schedule.transfers()) +
            " transfers; stock SimGrid takes long above " +
            std::to_string(kMostReferenceTransfers) +
            ": its time grows with the square. Let it fold (--fold auto), take "
            "fewer chips, use --engine pod, or insist with --force");
  }
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    if (network.hbm_bandwidth <= 0) break;
    if (schedule.kind(OpId(op)) != OpKind::kCompute) continue;
    if (schedule.hbm(OpId(op)).value() == 0) continue;
    throw InputError("--engine reference",
                     "SimGrid's model has no memory that async collectives "
                     "and copies could take from computes; give computes "
                     "durations, make the collectives sync, leave copies out, "
                     "or use --engine pod");
  }
  return RunReference(schedule, network);
}

}  // namespace

Timeline RunEngine(const Schedule& schedule, const Network& network,
                   const Topology& topology, const SimOptions& options) {
  Timeline timeline = Run(schedule, network, options);
  RequireNoneLost(schedule, network, timeline, topology);
  return timeline;
}

}  // namespace podsim
