#ifndef PODSIM_ENGINE_ENGINE_H_
#define PODSIM_ENGINE_ENGINE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/network_model.h"
#include "schedule/schedule.h"
#include "topology/fold.h"
#include "topology/slice.h"

namespace podsim {

// What an engine needs to know about the links of a schedule. Times in seconds,
// rates in bytes/s.
struct Network {
  std::uint32_t links = 0;
  double bandwidth = 0;
  double hop_latency = 0;       // alpha
  double message_overhead = 0;  // o
  double hbm_bandwidth = 0;     // of a chip; 0: memory is left out
  double issue = 0;             // g, serialised per message over ICI and chip
  std::uint32_t window = 0;     // messages over ICI per lane; 0: as lowered
  std::uint32_t first_port = UINT32_MAX;  // links from this one on are DCN's
  // Per link, only where links differ; else empty.
  std::vector<double> link_bandwidth;
  std::vector<double> link_latency;
  NetworkModel model = {};
  // Whether Timeline::start is wanted: 8 bytes per op of a one-hop schedule,
  // which is left empty without. Always with dated faults.
  bool starts = true;
  DatedFaults changes = {};  // dates from the first op on

  double BandwidthOf(LinkId link) const {
    return link_bandwidth.empty() ? bandwidth : link_bandwidth[link.value()];
  }
  double LatencyOf(LinkId link) const {
    return link_latency.empty() ? hop_latency : link_latency[link.value()];
  }
};

// Without the dated faults of the slice.
Network MakeNetwork(const Slice& slice);
// With them, of a run whose first op starts `launch` seconds after its start.
Network MakeNetwork(const Slice& slice, Seconds launch);
// The links of a fold, all alike (a fold needs a healthy slice), and its ports.
Network MakeNetwork(const Slice& slice, const FoldedGrid& grid);

// When every op began to start up (was issued, if that costs time) and ended,
// in seconds from the start.
struct Timeline {
  std::vector<double> start;
  std::vector<double> end;
  double makespan = 0;
  // Ops that a dated fault took (Network::changes): they never end, and what
  // waits for them never starts.
  struct Loss {
    std::uint32_t op;
    std::uint32_t fault;  // index into DatedFaults::faults
  };
  std::vector<Loss> lost = {};
};

// How far a run is, for those who wait.
struct RunProgress {
  std::uint64_t ended = 0;  // ops
  std::uint64_t ops = 0;    // in all
  double date = 0;          // simulated seconds
};
// Called every few hundred events and at the end.
using RunWatch = std::function<void(const RunProgress&)>;

// The pod engine, with the network model fluid: a transfer pays o + hops x
// alpha without using bandwidth (after its issue, issue_units.h), then its
// bytes flow through all links of its route at once, each link shared max-min
// fairly among the transfers flowing on it (a route that names a link twice
// takes two shares). With fifo and packet every link serves one packet at a
// time instead (link_queue_core.cc). Local and compute ops take their duration,
// computes with memory traffic longer while transfers use that memory. Runs as
// a model inside SimGrid's engine. Every op ends, is lost to a dated fault or
// waits for one that is; else it is an internal error that names the first ten.
Timeline RunPod(const Schedule& schedule, const Network& network,
                const RunWatch& watch = {});
// The same event loop drained without SimGrid: bit-equal, for trials and for
// whatever must leave SimGrid alone.
Timeline RunCore(const Schedule& schedule, const Network& network);

// CHECKs that every op has an end, is lost, or never started as others are.
void RequireAllEnded(const Timeline& timeline);

}  // namespace podsim

#endif  // PODSIM_ENGINE_ENGINE_H_
