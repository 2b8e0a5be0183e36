#include "engine/pod_model.h"

#include <xbt/log.h>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/NetZone.hpp>

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <utility>

namespace podsim {
namespace {

// Events may take milliseconds each, or a hundred nanoseconds.
constexpr std::uint64_t kEventsBetween = 256;

// The adapter, all of it. SimGrid asks when the next event is, moves its clock
// there, and says so; the core then does what is due. As no other model has
// work, everything that follows is due as well.
class PodModel : public simgrid::kernel::resource::Model {
 public:
  PodModel() : Model("podsim") {}

  void Load(Core* core, double base, std::function<void()> between) {
    core_ = core;
    base_ = base;
    between_ = std::move(between);
  }

  double next_occurring_event(double now) override {
    if (core_ == nullptr || core_->empty()) return -1;
    const double delay = std::max(0.0, base_ + core_->next() - now);
    promised_ = now + delay;
    return delay;
  }

  void update_actions_state(double now, double) override {
    if (core_ == nullptr || core_->empty() || now < promised_) return;
    while (!core_->empty()) {
      core_->Run(kEventsBetween);
      between_();
    }
  }

 private:
  Core* core_ = nullptr;
  double base_ = 0;  // SimGrid's clock at the core's date 0
  std::function<void()> between_;
  double promised_ = 0;  // comparing dates by tolerance alone could spin
};

// SimGrid's engine and our model in it, made when first needed.
struct Host {
  Host() {
    xbt_log_control_set("root.thresh:warning");
    static char name[] = "podsim";
    static char* arguments[] = {name, nullptr};
    int count = 1;
    // SimGrid's own handler of interrupts would exit past ours.
    const auto interrupted = std::signal(SIGINT, SIG_DFL);
    engine = std::make_unique<simgrid::s4u::Engine>(&count, arguments);
    std::signal(SIGINT, interrupted);
    // SimGrid wants a platform; our links are the model's own.
    simgrid::s4u::create_empty_zone("pod")->seal();
    model = std::make_shared<PodModel>();
    engine->add_model(model);
  }
  std::unique_ptr<simgrid::s4u::Engine> engine;
  std::shared_ptr<PodModel> model;
};

// SimGrid allows one engine per process; it stays until the process ends.
Host* host = nullptr;

}  // namespace

bool SimGridIsRunning() { return host != nullptr; }

void RunInSimGrid(Core& core, std::function<void()> between) {
  if (host == nullptr) host = new Host;
  host->model->Load(&core, simgrid::s4u::Engine::get_clock(),
                    std::move(between));
  host->engine->run();
  host->model->Load(nullptr, 0, {});
}

}  // namespace podsim
