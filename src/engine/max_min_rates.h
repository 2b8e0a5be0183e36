#ifndef PODSIM_ENGINE_MAX_MIN_RATES_H_
#define PODSIM_ENGINE_MAX_MIN_RATES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "engine/engine.h"

namespace podsim {

// Flows on routes of links and their max-min fair rates: every flow has a
// bottleneck, a link of its route that is full and on which no flow is faster.
// That condition, which makes the rates unique, is what Solve restores, and
// only around the flows that came or went: it fills the links for the flows
// that may change while all others keep their rates, then takes in those that
// no longer have a bottleneck, until there are none. A single flow among
// hundreds of all-to-all traffic changes some twenty others.
class MaxMinRates {
 public:
  // The network must outlive it.
  explicit MaxMinRates(const Network& network);

  // A number for it, which may be one that was removed. A route that names a
  // link twice takes two shares; its links must outlive the flow.
  std::uint32_t Add(std::span<const LinkId> route);
  void Remove(std::uint32_t flow);
  // The bandwidth of a link is another now, in bytes/s.
  void SetBandwidth(LinkId link, double bandwidth);

  // A flow whose rate was another before, 0 for a new one.
  struct Change {
    std::uint32_t flow;
    double before;  // bytes/s
  };
  // Gives every flow its rate. What it returns lives until the next call.
  const std::vector<Change>& Solve();

  // In bytes/s; 0 of one that was removed.
  double rate(std::uint32_t flow) const { return flows_[flow].rate; }
  std::uint32_t flows() const { return live_; }

 private:
  struct Flow {
    std::span<const LinkId> route;
    std::vector<std::uint32_t> places;  // in the lists of its links, by hop
    double rate = 0;
    double next = 0;  // as filled last
    std::uint32_t bottleneck = 0;
    bool live = false;
    bool active = false;  // may change in this Solve
    bool frozen = false;  // has its rate in this filling
  };
  struct Entry {
    std::uint32_t flow;
    std::uint32_t hop;
  };
  struct Link {
    std::vector<Entry> entries;
    double bandwidth = 0;
    double carried = 0;         // sum of the rates of all entries
    double level = 0;           // rate of the flows whose bottleneck it is
    std::uint32_t bound = 0;    // how many these are, active ones left out
    std::uint32_t commits = 0;  // since `carried` was summed up
    bool dirty = false;         // lost a flow or bandwidth since the last Solve
    // In this Solve:
    bool touched = false;      // on the route of an active flow
    std::uint32_t active = 0;  // entries
    double released = 0;       // sum of the rates they had
    // In this filling:
    std::uint32_t unfrozen = 0;  // of the active ones
    double free = 0;             // bytes/s that nobody has
    double fastest = 0;          // of the active ones
    bool fills = false;          // it is the bottleneck of an active one
  };
  struct Share {
    double rate;
    std::uint32_t link;
  };
  static bool Looser(const Share& a, const Share& b) {
    return a.rate > b.rate || (a.rate == b.rate && a.link > b.link);
  }

  void Touch(std::uint32_t link);
  void MarkDirty(std::uint32_t link);
  void Activate(std::uint32_t flow);
  void ActivateBound(std::uint32_t link);
  void ActivateFaster(std::uint32_t link);
  void ActivateAll();
  void Fill();
  void Freeze(std::uint32_t link, double rate);
  Share ShareOf(std::uint32_t link) const;
  void Expand();
  void Commit();

  std::vector<Flow> flows_;
  std::vector<std::uint32_t> unused_;  // flows that were removed
  std::uint32_t live_ = 0;
  std::vector<Link> links_;
  std::vector<std::uint32_t> dirty_;
  std::vector<std::uint32_t> active_;
  std::vector<std::uint32_t> touched_;
  std::vector<Share> tightest_;  // a heap
  std::vector<Change> changes_;
};

}  // namespace podsim

#endif  // PODSIM_ENGINE_MAX_MIN_RATES_H_
