#include "engine/max_min_rates.h"

#include <algorithm>

#include "base/check.h"

namespace podsim {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
// Rates and loads closer than this (relative) are equal: above the rounding of
// a sum of some hundred rates, below what makes two dates differ.
constexpr double kEqual = 1e-12;
// Sums of rates are taken anew after so many changes, before rounding adds up.
constexpr std::uint32_t kCommits = 64;

}  // namespace

MaxMinRates::MaxMinRates(const Network& network) : links_(network.links) {
  for (std::uint32_t link = 0; link < network.links; ++link) {
    links_[link].bandwidth = network.BandwidthOf(LinkId(link));
  }
}

std::uint32_t MaxMinRates::Add(std::span<const LinkId> route) {
  std::uint32_t id = static_cast<std::uint32_t>(flows_.size());
  if (unused_.empty()) {
    flows_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  Flow& flow = flows_[id];
  flow.route = route;
  flow.places.resize(route.size());
  flow.rate = 0;
  flow.bottleneck = kNone;
  flow.live = true;
  for (std::uint32_t hop = 0; hop < route.size(); ++hop) {
    std::vector<Entry>& entries = links_[route[hop].value()].entries;
    flow.places[hop] = static_cast<std::uint32_t>(entries.size());
    entries.push_back({id, hop});
  }
  ++live_;
  Activate(id);
  return id;
}

void MaxMinRates::Remove(std::uint32_t id) {
  Flow& flow = flows_[id];
  CHECK(flow.live && !flow.active);
  for (std::uint32_t hop = 0; hop < flow.route.size(); ++hop) {
    const std::uint32_t at = flow.route[hop].value();
    Link& link = links_[at];
    const Entry last = link.entries.back();
    link.entries[flow.places[hop]] = last;
    flows_[last.flow].places[last.hop] = flow.places[hop];
    link.entries.pop_back();
    link.carried -= flow.rate;
    MarkDirty(at);
  }
  --links_[flow.bottleneck].bound;
  flow.live = false;
  flow.rate = 0;
  --live_;
  unused_.push_back(id);
}

void MaxMinRates::SetBandwidth(LinkId link, double bandwidth) {
  links_[link.value()].bandwidth = bandwidth;
  MarkDirty(link.value());
}

void MaxMinRates::MarkDirty(std::uint32_t link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  dirty_.push_back(link);
}

const std::vector<MaxMinRates::Change>& MaxMinRates::Solve() {
  changes_.clear();
  for (const std::uint32_t link : dirty_) {
    links_[link].dirty = false;
    if (links_[link].carried > links_[link].bandwidth * (1 + kEqual)) {
      links_[link].fastest = 0;
      ActivateFaster(link);
    } else {
      ActivateBound(link);
    }
  }
  dirty_.clear();
  for (std::size_t before = 0; before < active_.size();) {
    if (active_.size() > live_ / 4) ActivateAll();
    before = active_.size();
    Fill();
    if (before < live_) Expand();
  }
  Commit();
  return changes_;
}

void MaxMinRates::Touch(std::uint32_t at) {
  Link& link = links_[at];
  if (link.touched) return;
  link.touched = true;
  link.active = 0;
  link.released = 0;
  touched_.push_back(at);
}

void MaxMinRates::Activate(std::uint32_t id) {
  Flow& flow = flows_[id];
  if (flow.active) return;
  flow.active = true;
  active_.push_back(id);
  if (flow.bottleneck != kNone) --links_[flow.bottleneck].bound;
  for (const LinkId link : flow.route) {
    Touch(link.value());
    ++links_[link.value()].active;
    links_[link.value()].released += flow.rate;
  }
}

void MaxMinRates::ActivateAll() {
  for (std::uint32_t id = 0; id < flows_.size(); ++id) {
    if (flows_[id].live) Activate(id);
  }
}

// All whose bottleneck it is.
void MaxMinRates::ActivateBound(std::uint32_t at) {
  if (links_[at].bound == 0) return;
  for (const Entry entry : links_[at].entries) {
    if (flows_[entry.flow].bottleneck == at) Activate(entry.flow);
  }
}

// All that are faster than the active ones, whose bottleneck it now is.
void MaxMinRates::ActivateFaster(std::uint32_t at) {
  const double most = links_[at].fastest * (1 + kEqual);
  for (const Entry entry : links_[at].entries) {
    if (flows_[entry.flow].rate > most) Activate(entry.flow);
  }
}

// Progressive filling: the link with the smallest share per unfrozen flow
// freezes its flows at that share, until all are frozen. A share only grows
// while others freeze, so that a heap of possibly outdated, smaller shares
// finds the smallest: O(hops x log links).
void MaxMinRates::Fill() {
  tightest_.clear();
  for (const std::uint32_t at : touched_) {
    Link& link = links_[at];
    link.unfrozen = link.active;
    link.free = link.active == link.entries.size()
                    ? link.bandwidth
                    : link.bandwidth - (link.carried - link.released);
    link.fastest = 0;
    link.fills = false;
    tightest_.push_back(ShareOf(at));
  }
  std::make_heap(tightest_.begin(), tightest_.end(), Looser);
  for (const std::uint32_t id : active_) flows_[id].frozen = false;
  double level = 0;
  while (!tightest_.empty()) {
    std::pop_heap(tightest_.begin(), tightest_.end(), Looser);
    const Share found = tightest_.back();
    tightest_.pop_back();
    if (links_[found.link].unfrozen == 0) continue;
    const Share now = ShareOf(found.link);
    if (now.rate > found.rate) {
      tightest_.push_back(now);
      std::push_heap(tightest_.begin(), tightest_.end(), Looser);
      continue;
    }
    // What is equal but for rounding is to end at one date.
    if (now.rate > level * (1 + kEqual / 2)) level = now.rate;
    Freeze(found.link, level);
  }
}

MaxMinRates::Share MaxMinRates::ShareOf(std::uint32_t link) const {
  return {std::max(0.0, links_[link].free) / links_[link].unfrozen, link};
}

void MaxMinRates::Freeze(std::uint32_t at, double rate) {
  links_[at].fills = true;
  for (const Entry entry : links_[at].entries) {
    Flow& flow = flows_[entry.flow];
    if (!flow.active || flow.frozen) continue;
    flow.frozen = true;
    flow.next = rate;
    flow.bottleneck = at;
    for (const LinkId on : flow.route) {
      Link& link = links_[on.value()];
      link.free -= rate;
      link.fastest = rate;
      --link.unfrozen;
    }
  }
}

// Takes in the flows without a bottleneck: of those that were to keep their
// rates the ones whose link is no longer full or has a faster one, and the ones
// that are faster than others on the link that stops these.
void MaxMinRates::Expand() {
  const std::size_t touched = touched_.size();
  for (std::size_t k = 0; k < touched; ++k) {
    const std::uint32_t at = touched_[k];
    const Link& link = links_[at];
    if (link.fills) ActivateFaster(at);
    if (link.bound > 0 && (link.free > kEqual * link.bandwidth ||
                           link.fastest > link.level * (1 + kEqual))) {
      ActivateBound(at);
    }
  }
}

void MaxMinRates::Commit() {
  for (const std::uint32_t id : active_) {
    Flow& flow = flows_[id];
    flow.active = false;
    ++links_[flow.bottleneck].bound;
    links_[flow.bottleneck].level = flow.next;
    if (flow.next == flow.rate) continue;
    changes_.push_back({id, flow.rate});
    flow.rate = flow.next;
  }
  for (const std::uint32_t at : touched_) {
    Link& link = links_[at];
    link.touched = false;
    link.carried = link.bandwidth - link.free;
    if (++link.commits < kCommits) continue;
    link.commits = 0;
    link.carried = 0;
    for (const Entry entry : link.entries) {
      link.carried += flows_[entry.flow].rate;
    }
  }
  active_.clear();
  touched_.clear();
}

}  // namespace podsim
