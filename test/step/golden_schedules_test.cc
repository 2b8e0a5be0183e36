// Every field of golden_schedules.json that does not name a scheduler.
#include "test/step/golden_schedules.h"

#include <cmath>
#include <iostream>
#include <map>

#include "step/abstract_account.h"
#include "step/critical_path.h"
#include "step/memory.h"
#include "step/simulate_abstract.h"
#include "step/step_bounds.h"
#include "step/verify_order.h"
#include "step/what_if.h"

namespace podsim {
namespace {

using nlohmann::json;

// Counts what it compares, by group and field.
class GoldenCheck {
 public:
  void Value(const std::string& field, double value, const json& expected) {
    const double want = RationalOf(expected);
    INFO(field << ": " << value << ", expected " << want);
    // Sums of exact parts that cancel leave rounding of the largest part.
    const double zero = 1e-12 * std::max(1.0, largest_);
    CHECK(std::abs(value - want) <=
          std::max(1e-9 * std::abs(want), want == 0 ? zero : 0));
    Count(field);
  }
  void Flag(const std::string& field, bool value, bool expected) {
    INFO(field);
    CHECK(value == expected);
    Count(field);
  }
  // Absent keys are zero, in both.
  void Map(const std::string& field, const std::map<std::string, double>& map,
           const json& expected) {
    for (const auto& [key, want] : expected.items()) {
      const auto found = map.find(key);
      Value(field, found == map.end() ? 0 : found->second, want);
    }
    for (const auto& [key, value] : map) {
      if (!expected.contains(key)) Value(field, value, 0);
    }
  }
  // Every key in both.
  void Bounds(const std::string& field, const podsim::Bounds& bounds,
              const json& expected) {
    std::map<std::string, double> map;
    for (const auto& component : bounds.components) {
      map[component.name] = component.time.value();
    }
    map["best"] = bounds.binding().time.value();
    CHECK(map.size() == expected.size());
    for (const auto& [key, want] : expected.items()) {
      INFO(key);
      CHECK(map.count(key) == 1);
      Value(field, map[key], want);
    }
  }
  void Count(const std::string& field) { ++counts_[field]; }
  void set_largest(double largest) { largest_ = largest; }
  void Print() const {
    int total = 0;
    for (const auto& [field, count] : counts_) {
      std::cout << "  " << field << ": " << count << "\n";
      total += count;
    }
    std::cout << "  in all: " << total << " values\n";
  }

 private:
  std::map<std::string, int> counts_;
  double largest_ = 0;  // makespan, for what should be 0
};

std::map<std::string, double> ExposedByOp(const AbstractAccount& account) {
  std::map<std::string, double> exposed;
  for (const TransferAccount& transfer : account.transfers) {
    exposed[std::to_string(transfer.op)] = transfer.exposed;
  }
  return exposed;
}

void CheckBusy(GoldenCheck& check, const std::string& group,
               const AbstractStep& step, const AbstractTimeline& timeline,
               const json& expected) {
  std::map<std::string, double> busy;
  for (const AbstractOp& op : step.ops) {
    if (!HasTransfer(op)) continue;
    for (const ResourceUse& use : op.use) {
      const StepResource& resource = step.resources[use.resource];
      if (resource.mode != ResourceMode::kFifo) continue;
      busy[resource.name] = timeline.busy[use.resource];
    }
  }
  CHECK(busy.size() == expected.size());
  check.Map(group + ".busy", busy, expected);
}

void CheckRun(GoldenCheck& check, const std::string& group,
              const AbstractStep& step, StepOrderView order,
              const json& expected) {
  const StepSimulator simulator(step);
  const AbstractTimeline timeline = simulator.Run(order);
  check.set_largest(timeline.makespan);
  check.Value(group + ".makespan", timeline.makespan, expected["makespan"]);
  CHECK(simulator.Makespan(order) == timeline.makespan);
  const auto peak = MemoryModel(step).Peak(order).bytes.value();
  check.Value(group + ".peak", static_cast<double>(peak), expected["peak"]);
  if (!expected.contains("work")) return;
  const AbstractAccount account = AccountAbstract(step, order, timeline);
  check.Value(group + ".work", account.work, expected["work"]);
  check.Value(group + ".interference", account.interference,
              expected["interference"]);
  check.Value(group + ".exposed_total", account.exposed,
              expected["exposed_total"]);
  check.Map(group + ".exposed", ExposedByOp(account), expected["exposed"]);
  check.Value(group + ".in_flight_time", account.in_flight,
              expected["in_flight_time"]);
  CheckBusy(check, group, step, timeline, expected["busy"]);
  const auto path = CriticalPath(step, order, timeline);
  check.Map(group + ".path", PathTotals(step, path), expected["path"]);
}

void CheckStraight(GoldenCheck& check, const json& test) {
  const json& expect = test["expect"];
  const AbstractStep step = GoldenStep(test, test["ops"]);
  const StepOrder order = ProgramOrder(step);
  CheckRun(check, "in_order", step, order, expect["in_order"]);
  check.Flag("in_order.legal", VerifyOrder(step, order).empty(),
             expect["in_order"]["legal"]);
  check.Bounds("bounds", ComputeStepBounds(step), expect["bounds"]);
  const json& what_ifs = expect["what_if_in_order"];
  const std::vector<WhatIf> rungs = MakeWhatIfs(step);
  CHECK(rungs.size() == what_ifs.size());
  for (const WhatIf& rung : rungs) {
    INFO(rung.name);
    check.Value("what_if_in_order", Simulate(rung.step, order).makespan,
                what_ifs.at(rung.name));
  }
}

void CheckLoopCase(GoldenCheck& check, const json& test) {
  const json& expect = test["expect"];
  const LoopStep loop = GoldenLoop(test);
  const AbstractStep flat = FlattenLoop(loop);
  const StepOrder body = ProgramOrder(loop.body);
  const StepOrder rolled = RolledOrder(loop, body);
  CheckRun(check, "rolled", flat, rolled, expect["rolled"]);
  const StepOrder pipelined =
      PipelinedOrder(loop, GoldenPipelining(test["loop"]), body);
  check.Flag("pipelined_order", json(pipelined) == expect["pipelined_order"],
             true);
  CheckRun(check, "pipelined", flat, pipelined, expect["pipelined"]);
  check.Bounds("ii_bounds", InitiationBounds(loop), expect["ii_bounds"]);
  check.Bounds("bounds", ComputeStepBounds(flat), expect["bounds"]);
  for (const StepOrder& order : {rolled, pipelined}) {
    CHECK(VerifyOrder(flat, order).empty());
  }
  CHECK(VerifyLoop(loop).empty());
  CHECK(VerifyIterations(loop, rolled).empty());
  CHECK_FALSE(VerifyIterations(loop, pipelined).empty());
}

TEST_CASE("Golden schedules hold in every field", "[step][golden]") {
  const json cases = GoldenSchedules();
  if (cases.empty()) return;
  CHECK(cases.size() == 201);
  GoldenCheck check;
  for (const json& test : cases) {
    INFO(test["id"]);
    const bool is_loop = test.contains("loop");
    if (is_loop) {
      CheckLoopCase(check, test);
    } else {
      CheckStraight(check, test);
    }
    const json& optimal = test["expect"].value("optimal", json());
    if (optimal.is_null()) continue;
    const AbstractStep step =
        is_loop ? FlattenLoop(GoldenLoop(test)) : GoldenStep(test, test["ops"]);
    const auto order = optimal["order"].get<StepOrder>();
    CheckRun(check, "optimal", step, order, optimal);
    const bool legal = VerifyOrder(step, order).empty();
    check.Flag("optimal is legal", legal, true);
  }
  std::cout << "golden schedules: values checked\n";
  check.Print();
}

}  // namespace
}  // namespace podsim
