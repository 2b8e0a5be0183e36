#include "engine/reference.h"

#include <xbt/log.h>
#include <algorithm>
#include <cstring>
#include <map>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>

#include "base/check.h"
#include "base/error.h"
#include "base/forked.h"
#include "engine/core.h"
#include "engine/dated_changes.h"
#include "engine/issue_units.h"
#include "engine/pod_model.h"

namespace podsim {
namespace {

namespace sg4 = simgrid::s4u;
using simgrid::kernel::resource::StandardLinkImpl;
using simgrid::kernel::routing::NetPoint;

// SimGrid's second is our microsecond: its absolute tolerances (1e-9) then are
// 1e-15 s.
constexpr double kMicro = 1e6;

// A zone whose route is whatever the transfer that is being started says. All
// routes report latency 1, because SimGrid weights sharing by 1/latency; the
// true one comes in as a factor.
class RouteZone : public simgrid::kernel::routing::NetZoneImpl {
 public:
  explicit RouteZone(const std::string& name) : NetZoneImpl(name) {}

  std::vector<StandardLinkImpl*> links;  // of the slice, by id
  std::span<const LinkId> current;       // route to hand out next
  void get_local_route(const NetPoint*, const NetPoint*,
                       simgrid::kernel::routing::Route* route,
                       double* latency) override {
    for (const LinkId link : current) {
      route->link_list_.push_back(links[link.value()]);
    }
    if (latency != nullptr) *latency += 1;
  }
};

class ReferenceRun {
 public:
  ReferenceRun(const Schedule& schedule, const Network& network)
      : schedule_(schedule),
        network_(network),
        successors_(schedule, network),
        issue_(schedule, network),
        changes_(schedule, network) {
    timeline_.start.assign(schedule.size(), -1);
    timeline_.end.assign(schedule.size(), -1);
  }

  Timeline Run() {
    xbt_log_control_set("root.thresh:warning");
    static char name[] = "podsim";
    static char* arguments[] = {name, nullptr};
    int count = 1;
    sg4::Engine engine(&count, arguments);
    // Defaults model TCP: scaled latency and bandwidth, coupled directions, a
    // window cap; none of which ICI has.
    for (const char* setting :
         {"network/model:CM02", "network/crosstraffic:0",
          "network/TCP-gamma:1e30", "network/solver:maxmin",
          "maxmin/precision:1e-12"}) {
      sg4::Engine::set_config(setting);
    }
    // Lazy solves anew only around what changed, and misses flows of several
    // hops that share a link with those: some rates stay too high. Full solves
    // everything at every event, which is slow.
    sg4::Engine::set_config(schedule_.one_hop() ? "network/optim:Lazy"
                                                : "network/optim:Full");
    BuildPlatform();
    sg4::Activity::on_completion_cb(
        [this](const sg4::Activity& activity) { Collect(activity); });
    for (const LinkChange& change : network_.changes.links) {
      simgrid::kernel::timer::Timer::set(change.date * kMicro,
                                         [this, change] { Change(change); });
    }
    for (std::uint32_t op = 0; op < schedule_.size(); ++op) {
      if (!successors_.Waits(op)) Start(op);
    }
    engine.run();
    return std::move(timeline_);
  }

 private:
  void BuildPlatform() {
    zone_ = new RouteZone("slice");  // owned by SimGrid
    sg4::NetZone* zone = zone_->get_iface();
    std::uint32_t chips = 1;
    for (std::uint32_t op = 0; op < schedule_.size(); ++op) {
      chips = std::max({chips, schedule_.src(OpId(op)).value() + 1,
                        schedule_.dst(OpId(op)).value() + 1});
    }
    // Two hosts per chip, so that a folded chip can send to itself.
    for (std::uint32_t chip = 0; chip < chips; ++chip) {
      const std::string id = std::to_string(chip);
      senders_.push_back(zone->create_host("from " + id, 1.0)->seal());
      receivers_.push_back(zone->create_host("to " + id, 1.0)->seal());
    }
    for (std::uint32_t id = 0; id < network_.links; ++id) {
      sg4::Link* link =
          zone->create_link("link " + std::to_string(id),
                            network_.BandwidthOf(LinkId(id)) / kMicro);
      link->seal();
      links_.push_back(link);
      zone_->links.push_back(link->get_impl());
    }
    zone->get_network_model()->set_lat_factor_cb(
        [this](double, const sg4::Host*, const sg4::Host*,
               const std::vector<sg4::Link*>&,
               const std::unordered_set<sg4::NetZone*>&) { return start_up_; });
    zone->seal();
  }

  void Start(std::uint32_t op) {
    if (issue_.Serves(op)) {
      issue_.Queue(op, sg4::Engine::get_clock() / kMicro, PromiseIssue());
    } else {
      StartUp(op);
    }
  }

  std::function<void(std::uint32_t, double)> PromiseIssue() {
    return [this](std::uint32_t chip, double end) {
      simgrid::kernel::timer::Timer::set(end * kMicro, [this, chip, end] {
        StartUp(issue_.End(chip, end, PromiseIssue()));
      });
    };
  }

  // By a timer, as events of SimGrid's profiles do not keep a run alive.
  void Change(const LinkChange& change) {
    sg4::Link* link = links_[change.link.value()];
    if (change.factor == 0) {
      link->turn_off();
    } else {
      link->set_bandwidth(network_.BandwidthOf(change.link) * change.factor /
                          kMicro);
    }
  }

  void StartUp(std::uint32_t op) {
    const OpId id(op);
    const double now = sg4::Engine::get_clock() / kMicro;
    timeline_.start[op] = now;
    if (changes_.Takes(id, now)) return;  // would fail at once
    if (schedule_.kind(id) != OpKind::kTransfer) {
      const double duration = schedule_.duration(id).value() * kMicro;
      simgrid::kernel::timer::Timer::set(sg4::Engine::get_clock() + duration,
                                         [this, op] { EndCompute(op); });
      return;
    }
    start_up_ = network_.message_overhead;
    for (const LinkId link : schedule_.route(id)) {
      start_up_ += network_.LatencyOf(link);
    }
    start_up_ *= kMicro;
    zone_->current = schedule_.route(id);
    sg4::CommPtr comm = sg4::Comm::sendto_init();
    comm->set_payload_size(
        static_cast<std::uint64_t>(schedule_.bytes(id).value()));
    comm->set_data(reinterpret_cast<void*>(std::uintptr_t{op} + 1));
    comm->set_source(senders_[schedule_.src(id).value()]);
    comm->set_destination(receivers_[schedule_.dst(id).value()]);  // starts it
    flying_.push_back(comm);
  }

  void EndCompute(std::uint32_t op) {
    if (changes_.Takes(OpId(op), sg4::Engine::get_clock() / kMicro)) return;
    ended_.push_back(op);
    Release();
  }

  void Collect(const sg4::Activity& activity) {
    const auto* comm = dynamic_cast<const sg4::Comm*>(&activity);
    if (comm == nullptr) return;
    if (activity.get_state() == sg4::Activity::State::FAILED) return;
    const auto tag = reinterpret_cast<std::uintptr_t>(comm->get_data<void>());
    if (tag == 0) return;
    ended_.push_back(static_cast<std::uint32_t>(tag - 1));
    Release();
  }

  // Starts what waited for the ops that ended at this date.
  void Release() {
    if (releasing_) return;
    releasing_ = true;
    const double now = sg4::Engine::get_clock() / kMicro;
    while (!ended_.empty()) {
      const std::vector<std::uint32_t> ended = std::move(ended_);
      ended_.clear();
      for (const std::uint32_t op : ended) {
        timeline_.end[op] = now;
        timeline_.makespan = std::max(timeline_.makespan, now);
        successors_.Release(op, [&](std::uint32_t next) { Start(next); });
      }
    }
    releasing_ = false;
  }

  const Schedule& schedule_;
  const Network& network_;
  Successors successors_;
  IssueUnits issue_;
  DatedChanges changes_;
  Timeline timeline_;
  RouteZone* zone_ = nullptr;
  std::vector<sg4::Host*> senders_, receivers_;
  std::vector<sg4::Link*> links_;
  double start_up_ = 0;  // microseconds, of the transfer being started
  std::vector<std::uint32_t> ended_;
  std::vector<sg4::CommPtr> flying_;
  bool releasing_ = false;
};

// The dates of a timeline as the output of a process, and back.
std::string Pack(const Timeline& timeline) {
  std::string bytes;
  for (const auto* dates : {&timeline.start, &timeline.end}) {
    bytes.append(reinterpret_cast<const char*>(dates->data()),
                 dates->size() * sizeof(double));
  }
  return bytes;
}

Timeline Unpack(const std::string& bytes) {
  Timeline timeline;
  if (bytes.empty()) return timeline;  // memcpy takes no null pointers
  const std::size_t half = bytes.size() / 2;
  const char* from = bytes.data();
  for (auto* dates : {&timeline.start, &timeline.end}) {
    dates->resize(half / sizeof(double));
    std::memcpy(dates->data(), from, half);
    from += half;
  }
  for (const double end : timeline.end) {
    timeline.makespan = std::max(timeline.makespan, end);
  }
  return timeline;
}

// A flow never outruns the slowest link that it found when it began; NICs have
// no chips.
void RequireFollowable(const Network& network) {
  if (!network.changes.chips.empty() && network.first_port < network.links) {
    const std::uint32_t fault = network.changes.chips[0].fault;
    throw InputError(network.changes.faults[fault].where,
                     "stock SimGrid cannot tell the messages of a chip from "
                     "others over the NIC of its host; use --engine pod");
  }
  std::map<LinkId, double> factor;
  for (const LinkChange& change : network.changes.links) {
    double& now = factor.try_emplace(change.link, 1).first->second;
    if (change.factor > now) {
      const DatedFault& fault = network.changes.faults[change.fault];
      throw InputError(fault.where,
                       "stock SimGrid cannot follow a link that becomes faster "
                       "again while something flows; use --engine pod");
    }
    now = change.factor;
  }
}

// What began and did not end has lost a link or its chip.
void AddLosses(const Schedule& schedule, const Network& network,
               Timeline& timeline) {
  const DatedChanges changes(schedule, network);
  if (changes.empty()) return;
  for (std::uint32_t op = 0; op < schedule.size(); ++op) {
    if (timeline.start[op] < 0 || timeline.end[op] >= 0) continue;
    timeline.lost.push_back(changes.LossOf(OpId(op)));
  }
}

}  // namespace

Timeline RunReference(const Schedule& schedule, const Network& network) {
  RequireFollowable(network);
  CHECK(!SimGridIsRunning()) << "RunReference after RunPod in one process";
  const ForkedResult result =
      RunForked([&] { return Pack(ReferenceRun(schedule, network).Run()); });
  if (!result.ok) throw InputError("--engine reference", result.failure);
  Timeline timeline = Unpack(result.output);
  CHECK(timeline.end.size() == schedule.size());
  AddLosses(schedule, network, timeline);
  RequireAllEnded(timeline);
  return timeline;
}

}  // namespace podsim
