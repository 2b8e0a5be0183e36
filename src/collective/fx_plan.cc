#include "collective/fx_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"

namespace podsim {
namespace {

constexpr int kMostRadix = 1 << 16;
constexpr int kMostParts = 16;

FxText::Merge ParseMerge(const std::string& text, const std::string& where) {
  if (text == "L") return FxText::Merge::kAll;
  if (text == "F2") return FxText::Merge::kFirstTwo;
  if (text == "L2") return FxText::Merge::kLastTwo;
  throw InputError(where,
                   "expected plan=..:L, :F2 or :L2, got \":" + text + "\"");
}

int Product(const std::vector<int>& radices) {
  return std::accumulate(radices.begin(), radices.end(), 1,
                         std::multiplies<>());
}

// The rounds of axes that go side by side.
void AppendRounds(const FxText& text, const std::vector<int>& axes,
                  FxPart& part) {
  std::size_t most = 0;
  for (const int axis : axes) most = std::max(most, text.radices[axis].size());
  for (std::size_t j = 0; j < most; ++j) {
    FxRound round;
    for (const int axis : axes) {
      const std::vector<int>& radices = text.radices[axis];
      if (j < radices.size()) round.push_back({axis, radices[j]});
    }
    part.push_back(round);
  }
}

std::vector<std::vector<int>> MergedAxes(FxText::Merge merge,
                                         const std::vector<int>& order) {
  const std::size_t d = order.size();
  std::size_t first = d, last = d;  // none
  if (merge == FxText::Merge::kAll) first = 0;
  if (merge == FxText::Merge::kFirstTwo)
    first = 0, last = std::min<std::size_t>(2, d);
  if (merge == FxText::Merge::kLastTwo) first = d > 2 ? d - 2 : 0;
  std::vector<std::vector<int>> merged;
  for (std::size_t k = 0; k < d; ++k) {
    if (k > first && k < last) {
      merged.back().push_back(order[k]);
    } else {
      merged.push_back({order[k]});
    }
  }
  return merged;
}

}  // namespace

FxText ParseFxText(const std::string& text, const std::string& where) {
  FxText parsed;
  std::string rest = text;
  if (!rest.empty() && rest.back() == 'a') {
    parsed.anchored = true;
    rest.pop_back();
  }
  if (const auto star = rest.find('*'); star != std::string::npos) {
    parsed.parts = static_cast<int>(ParseCount(
        rest.substr(star + 1), 1, kMostParts, where + ": parts of the plan"));
    rest.resize(star);
  }
  if (const auto colon = rest.find(':'); colon != std::string::npos) {
    parsed.merge = ParseMerge(rest.substr(colon + 1), where);
    rest.resize(colon);
  }
  for (const std::string& axis : Split(rest, '/')) {
    parsed.radices.emplace_back();
    for (const std::string& radix : Split(axis, '.')) {
      parsed.radices.back().push_back(static_cast<int>(
          ParseCount(radix, 2, kMostRadix,
                     where + ": radix of the plan \"" + text + "\"")));
    }
  }
  return parsed;
}

std::string DefaultFxText(const SubGrid& grid) {
  std::vector<std::string> sizes;
  for (const int size : grid.sizes) sizes.push_back(std::to_string(size));
  return Join(sizes, "/");
}

FxPlan MakeFxPlan(const FxText& text) {
  FxPlan plan{.parts = {}, .anchored = text.anchored};
  const auto d = static_cast<int>(text.radices.size());
  for (int k = 0; k < text.parts; ++k) {
    std::vector<int> order;
    for (int a = 0; a < d; ++a) order.push_back((k + a) % d);
    FxPart part;
    for (const auto& axes : MergedAxes(text.merge, order)) {
      AppendRounds(text, axes, part);
    }
    plan.parts.push_back(std::move(part));
  }
  return plan;
}

std::optional<std::string> WhyNotFx(const FxText& text, const SubGrid& grid) {
  const auto axes = static_cast<int>(text.radices.size());
  if (axes != grid.axes()) {
    return "its plan is for " + std::to_string(axes) +
           " axes, the groups have " + std::to_string(grid.axes()) +
           " of more than one chip; use plan=" + DefaultFxText(grid);
  }
  for (int a = 0; a < axes; ++a) {
    const int product = Product(text.radices[a]);
    if (product == grid.sizes[a]) continue;
    return "the radices of axis number " + std::to_string(a + 1) +
           " of its plan multiply to " + std::to_string(product) +
           ", the axis has " + std::to_string(grid.sizes[a]) +
           " chips; use plan=" + DefaultFxText(grid);
  }
  return std::nullopt;
}

std::optional<std::string> WhyNotCut(const FxPlan& plan, int cut,
                                     const SubGrid& grid) {
  int most = 0;
  for (const FxPart& part : plan.parts) {
    most = std::max(most, static_cast<int>(part.size()));
  }
  if (cut > most) {
    return "cut=" + std::to_string(cut) + " is more than the " +
           std::to_string(most) +
           " rounds of its plan; use cut=0 to cut=" + std::to_string(most);
  }
  for (const FxPart& part : plan.parts) {
    std::vector<int> done(grid.axes(), 1);
    for (int j = 0; j < std::min<int>(cut, static_cast<int>(part.size()));
         ++j) {
      for (const FxFactor& factor : part[j]) done[factor.axis] *= factor.radix;
    }
    for (int a = 0; a < grid.axes(); ++a) {
      if (done[a] == 1 || done[a] == grid.sizes[a]) continue;
      return "cut=" + std::to_string(cut) +
             " is in the middle of axis number " + std::to_string(a + 1) +
             "; cut where the rounds of whole axes end, such as cut=0 or cut=" +
             std::to_string(most);
    }
  }
  return std::nullopt;
}

FxGeometry::FxGeometry(const SubGrid& grid, std::vector<bool> rings,
                       const FxPart& part, bool anchored)
    : grid_(grid), rings_(std::move(rings)) {
  std::vector<int> windows(grid.axes(), 1);
  for (const FxRound& round : part) {
    rounds_.emplace_back();
    for (const FxFactor& factor : round) {
      int& window = windows[factor.axis];
      rounds_.back().push_back(MakeFactor(factor, window, anchored));
      window *= factor.radix;
    }
  }
  ShareOut();
}

FxGeometry::Factor FxGeometry::MakeFactor(const FxFactor& factor, int window,
                                          bool anchored) const {
  Factor made{factor.axis, factor.radix, window, {}, {}};
  if (!rings_[factor.axis]) return made;
  const int r = factor.radix, m = window;
  const bool centred = r % 2 == 1 || (!anchored && m % 2 == 0);
  const int base = centred ? -m * (r - 1) / 2 : -m * (r / 2 - 1);
  for (int k = 0; k < r; ++k) made.reach.push_back(base + m * k);
  return made;
}

// Every displacement around a ring is one sum of one element of each round.
void FxGeometry::ShareOut() {
  for (int axis = 0; axis < grid_.axes(); ++axis) {
    if (!rings_[axis]) continue;
    const int n = grid_.sizes[axis];
    std::vector<Factor*> factors;
    for (auto& round : rounds_) {
      for (Factor& factor : round) {
        if (factor.axis == axis) factors.push_back(&factor);
      }
    }
    for (Factor* factor : factors) factor->share.assign(n, 0);
    for (int number = 0; number < n; ++number) {
      int sum = 0, rest = number;
      std::vector<int> steps;
      for (const Factor* factor : factors) {
        steps.push_back(factor->reach[rest % factor->radix]);
        rest /= factor->radix;
        sum += steps.back();
      }
      const int displacement = (sum % n + n) % n;
      for (std::size_t j = 0; j < factors.size(); ++j) {
        factors[j]->share[displacement] = steps[j];
      }
    }
  }
}

std::vector<int> FxGeometry::PeersOf(int round, int rank) const {
  std::vector<int> peers = {rank};
  for (const Factor& factor : rounds_[round]) {
    const int n = grid_.sizes[factor.axis];
    const int x = grid_.Coordinate(rank, factor.axis);
    std::vector<int> next;
    for (const int peer : peers) {
      for (int k = 0; k < factor.radix; ++k) {
        const int digit = x / factor.window % factor.radix;
        const int to = rings_[factor.axis] ? ((x + factor.reach[k]) % n + n) % n
                                           : x + (k - digit) * factor.window;
        next.push_back(grid_.At(peer, factor.axis, to));
      }
    }
    peers = std::move(next);
  }
  return peers;
}

int FxGeometry::NextOf(int round, int at, int source, int target) const {
  int next = at;
  for (const Factor& factor : rounds_[round]) {
    const int n = grid_.sizes[factor.axis];
    const int x = grid_.Coordinate(at, factor.axis);
    const int to = grid_.Coordinate(target, factor.axis);
    int moved;
    if (rings_[factor.axis]) {
      const int whole = (to - grid_.Coordinate(source, factor.axis) + n) % n;
      moved = ((x + factor.share[whole]) % n + n) % n;
    } else {
      const auto digit = [&](int of) {
        return of / factor.window % factor.radix;
      };
      moved = x + (digit(to) - digit(x)) * factor.window;
    }
    next = grid_.At(next, factor.axis, moved);
  }
  return next;
}

std::vector<bool> FxGeometry::AxesOf(int cut) const {
  std::vector<bool> used(grid_.axes());
  for (int j = 0; j < std::min(cut, rounds()); ++j) {
    for (const Factor& factor : rounds_[j]) used[factor.axis] = true;
  }
  return used;
}

int FxGeometry::IndexOf(int rank, int cut) const {
  const std::vector<bool> used = AxesOf(cut);
  int index = 0;
  for (int a = grid_.axes(); a-- > 0;) {
    if (used[a]) index = index * grid_.sizes[a] + grid_.Coordinate(rank, a);
  }
  return index;
}

int FxGeometry::ChipsOf(int cut) const {
  const std::vector<bool> used = AxesOf(cut);
  int chips = 1;
  for (int a = 0; a < grid_.axes(); ++a) {
    if (used[a]) chips *= grid_.sizes[a];
  }
  return chips;
}

}  // namespace podsim
