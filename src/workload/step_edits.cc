#include "workload/step_edits.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"

namespace podsim {
namespace {

void DropWaits(const StepGraph& graph, std::vector<StepItem>& items) {
  std::erase_if(items, [&](const StepItem& item) {
    return item.op && item.wait && graph.ops[*item.op].collective;
  });
  for (StepItem& item : items) DropWaits(graph, item.body);
}

bool Needs(const StepGraph& graph, const StepItem& item, std::uint32_t op) {
  if (!item.op) {
    return std::any_of(
        item.body.begin(), item.body.end(),
        [&](const StepItem& inner) { return Needs(graph, inner, op); });
  }
  const std::vector<std::uint32_t>& deps = graph.ops[*item.op].deps;
  return !item.wait && std::find(deps.begin(), deps.end(), op) != deps.end();
}

// `turned`: by op, whether it had no waits before.
void AddWaits(const StepGraph& graph, const std::vector<bool>& turned,
              std::vector<StepItem>& items) {
  std::vector<StepItem> result;
  std::vector<std::uint32_t> flying;
  const auto wait_for = [&](std::uint32_t op) {
    StepItem& wait = result.emplace_back();
    wait.op = op;
    wait.wait = true;
  };
  for (StepItem& item : items) {
    std::erase_if(flying, [&](std::uint32_t op) {
      if (!Needs(graph, item, op)) return false;
      wait_for(op);
      return true;
    });
    AddWaits(graph, turned, item.body);
    if (item.op && !item.wait && turned[*item.op]) flying.push_back(*item.op);
    result.push_back(std::move(item));
  }
  for (const std::uint32_t op : flying) wait_for(op);
  items = std::move(result);
}

// "fusion.7" of "fusion.7@2": what is called twice has its ops twice.
std::string NameOf(const StepOp& op) {
  return op.id.substr(0, op.id.find('@'));
}

std::string Unquoted(std::string text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

Seconds SecondsOf(const std::string& text, const std::string& where) {
  try {
    return ParseDuration(text + "s", where);
  } catch (const InputError&) {
    throw InputError(where,
                     "expected seconds, such as 1.5e-3, got \"" + text + "\"");
  }
}

std::map<std::string, double> ReadTimes(std::string_view csv,
                                        const std::string& file) {
  std::map<std::string, double> times;
  int line = 0;
  for (const std::string& raw : Split(std::string(csv), '\n')) {
    ++line;
    std::string text = raw;
    if (text.ends_with('\r')) text.pop_back();
    if (text.empty() || (line == 1 && text == "name,seconds")) continue;
    const std::string where = file + ":" + std::to_string(line);
    const auto comma = text.rfind(',');
    if (comma == std::string::npos) {
      throw InputError(where, "expected name,seconds, got \"" + text + "\"");
    }
    const std::string name = Unquoted(text.substr(0, comma));
    const Seconds time = SecondsOf(text.substr(comma + 1), where);
    if (!times.insert({name, time.value()}).second) {
      throw InputError(where, "the op " + name + " stands twice");
    }
  }
  return times;
}

}  // namespace

void MakeAllSync(StepGraph& graph) {
  for (StepOp& op : graph.ops) {
    if (op.collective) op.mode = CollectiveMode::kSync;
  }
  DropWaits(graph, graph.items);
}

void MakeAllAsync(StepGraph& graph) {
  std::vector<bool> turned;
  for (StepOp& op : graph.ops) {
    turned.push_back(op.collective && op.mode == CollectiveMode::kSync);
    if (turned.back()) op.mode = CollectiveMode::kAsync;
  }
  AddWaits(graph, turned, graph.items);
}

void SetOpTimes(std::string_view csv, const std::string& file, StepGraph& graph,
                std::vector<std::string>& warnings) {
  const std::map<std::string, double> times = ReadTimes(csv, file);
  if (times.empty()) throw InputError(file, "expected lines of name,seconds");
  std::map<std::string, bool> left;
  for (const auto& [name, seconds] : times) left[name] = true;
  std::vector<std::string> known;
  for (StepOp& op : graph.ops) {
    if (op.collective) continue;
    known.push_back(NameOf(op));
    const auto time = times.find(known.back());
    if (time == times.end()) continue;
    op.duration = Seconds(time->second);
    // Neither faster memory nor faster cores are known to change it.
    if (op.roofline) op.roofline->flops_time = op.duration;
    if (op.roofline) op.roofline->hbm_time = op.duration;
    left.erase(time->first);
  }
  if (left.empty()) return;
  const std::string first = left.begin()->first;
  if (left.size() == times.size()) {
    const auto near = Similar(first, known);
    throw InputError(file,
                     "no name is that of a compute of this step; the "
                     "first is " +
                         first + (near ? ", did you mean " + *near + "?" : ""));
  }
  warnings.push_back(file + ": " + std::to_string(left.size()) + " of " +
                     std::to_string(times.size()) +
                     " names are no computes of this step and left out; the "
                     "first is " +
                     first);
}

}  // namespace podsim
