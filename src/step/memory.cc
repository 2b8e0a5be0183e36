#include "step/memory.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "step/order_edges.h"

namespace podsim {
namespace {

// The ops whose result is written into the result of the same first one.
std::vector<std::uint32_t> FirstDonors(const AbstractStep& step) {
  std::vector<std::uint32_t> donors = ValueOwners(step);
  const std::vector<std::uint32_t> owners = donors;
  for (std::uint32_t& donor : donors) {
    std::size_t hops = 0;
    while (step.ops[donor].alias) {
      donor = owners[*step.ops[donor].alias];
      CHECK(++hops <= step.ops.size()) << "buffers taken over in a circle";
    }
  }
  return donors;
}

}  // namespace

MemoryModel::MemoryModel(const AbstractStep& step) {
  for (const AbstractOp& op : step.ops) tmp_.push_back(op.tmp);
  AddBuffers(step);
  AddReaders(step);
}

void MemoryModel::AddBuffers(const AbstractStep& step) {
  defines_.assign(step.ops.size(), kNoBuffer);
  held_ = FirstDonors(step);
  for (std::uint32_t op = 0; op < step.ops.size(); ++op) {
    if (held_[op] != op || step.ops[op].out == Bytes(0)) continue;
    defines_[op] = static_cast<std::uint32_t>(buffers_.size());
    buffers_.push_back({.bytes = step.ops[op].out, .op = op});
  }
  for (std::uint32_t& held : held_) held = defines_[held];
  for (const std::uint32_t output : step.outputs) {
    if (held_[output] != kNoBuffer) buffers_[held_[output]].live_out = true;
  }
}

void MemoryModel::AddReaders(const AbstractStep& step) {
  const std::vector<std::uint32_t> last = LastReaders(step);
  std::vector<std::vector<std::uint32_t>> reads(step.ops.size());
  const auto add = [&](std::uint32_t reader, std::uint32_t buffer) {
    if (buffer != kNoBuffer) reads[last[reader]].push_back(buffer);
  };
  for (std::uint32_t op = 0; op < step.ops.size(); ++op) {
    for (const std::uint32_t dep : step.ops[op].deps) add(op, held_[dep]);
    if (step.ops[op].of) add(op, held_[*step.ops[op].of]);
    if (step.ops[op].alias) add(op, held_[op]);
  }
  for (std::uint32_t k = 0; k < step.params.size(); ++k) {
    const StepParam& param = step.params[k];
    // One that nobody needs is gone before the first op.
    if (param.users.empty() && !param.live_out) continue;
    if (param.bytes == Bytes(0)) continue;
    const auto buffer = static_cast<std::uint32_t>(buffers_.size());
    buffers_.push_back(
        {.bytes = param.bytes, .param = k, .live_out = param.live_out});
    for (const std::uint32_t user : param.users) add(user, buffer);
  }
  for (std::vector<std::uint32_t>& row : reads) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    reads_.items.insert(reads_.items.end(), row.begin(), row.end());
    reads_.EndRow();
  }
  readers_ = Transposed(reads_, buffers_.size());
}

std::vector<Bytes> MemoryModel::Usage(StepOrderView order) const {
  std::vector<std::size_t> unread(buffers_.size());
  std::vector<bool> defined(buffers_.size());
  Bytes live;
  for (std::uint32_t k = 0; k < buffers_.size(); ++k) {
    unread[k] = readers_[k].size();
    if (buffers_[k].op != kNoOp) continue;
    defined[k] = true;
    live += buffers_[k].bytes;
  }
  const auto release = [&](std::uint32_t buffer) {
    const StepBuffer& b = buffers_[buffer];
    if (unread[buffer] > 0 || b.live_out || !defined[buffer]) return;
    live = live - b.bytes;
  };
  std::vector<Bytes> usage;
  usage.reserve(order.size());
  for (const std::uint32_t op : order) {
    const std::uint32_t own = defines_[op];
    if (own != kNoBuffer) live += buffers_[own].bytes;
    usage.push_back(live + tmp_[op]);
    for (const std::uint32_t buffer : reads_[op]) {
      --unread[buffer];
      release(buffer);
    }
    if (own == kNoBuffer) continue;
    defined[own] = true;
    release(own);
  }
  return usage;
}

MemoryPeak MemoryModel::Peak(StepOrderView order) const {
  const std::vector<Bytes> usage = Usage(order);
  if (usage.empty()) return {};
  const auto highest = std::max_element(usage.begin(), usage.end());
  MemoryPeak peak;
  peak.bytes = *highest;
  peak.position = static_cast<std::uint32_t>(highest - usage.begin());
  peak.live = LiveAt(order, peak.position);
  return peak;
}

std::vector<StepBuffer> MemoryModel::LiveAt(StepOrderView order,
                                            std::uint32_t position) const {
  std::vector<bool> before(defines_.size());
  for (std::uint32_t k = 0; k < position; ++k) before[order[k]] = true;
  const std::uint32_t running = order[position];
  std::vector<StepBuffer> live;
  for (std::uint32_t k = 0; k < buffers_.size(); ++k) {
    const StepBuffer& buffer = buffers_[k];
    const bool dead =
        !buffer.live_out &&
        std::all_of(readers_[k].begin(), readers_[k].end(),
                    [&](std::uint32_t op) -> bool { return before[op]; });
    const bool there = buffer.op == kNoOp || before[buffer.op];
    if (buffer.op == running || (there && !dead)) live.push_back(buffer);
  }
  std::stable_sort(live.begin(), live.end(),
                   [](const StepBuffer& a, const StepBuffer& b) {
                     return a.bytes > b.bytes;
                   });
  return live;
}

std::string LargestLiveText(const AbstractStep& step,
                            const std::vector<StepBuffer>& live) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < std::min(kShown, live.size()); ++k) {
    const StepBuffer& buffer = live[k];
    parts.push_back((buffer.op == kNoOp
                         ? "param " + std::to_string(buffer.param)
                         : OpText(step, buffer.op)) +
                    " " + AmountText(buffer.bytes));
  }
  if (live.size() > kShown) {
    parts.push_back(std::to_string(live.size() - kShown) + " more");
  }
  return parts.empty() ? "nothing" : Join(parts, ", ");
}

std::string AmountText(Bytes amount) {
  static constexpr std::array<const char*, 5> kUnits = {" B", " KiB", " MiB",
                                                        " GiB", " TiB"};
  auto value = static_cast<double>(amount.value());
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return Significant(value, 4) + kUnits[unit];
}

}  // namespace podsim
