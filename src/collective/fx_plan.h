#ifndef PODSIM_COLLECTIVE_FX_PLAN_H_
#define PODSIM_COLLECTIVE_FX_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "collective/collective.h"
#include "collective/sub_grid.h"

namespace podsim {

// Plans of a factored exchange: rounds, in each of which a chip sends to the
// product of a few peers along some axes.

// On an axis (of more than one chip), so many peers, the chip itself among
// them unless the window is centred and both radix and window are even.
struct FxFactor {
  int axis;
  int radix;
};
using FxRound = std::vector<FxFactor>;
using FxPart = std::vector<FxRound>;

struct FxPlan {
  std::vector<FxPart> parts;  // of the bytes, each with an order of its own
  bool anchored = false;      // every window reaches from the chip on, in +
};

// "2.4/4.4:L*2a": radices of each axis, how axes are merged into rounds, the
// number of parts, and whether windows are anchored.
struct FxText {
  enum class Merge { kNone, kAll, kFirstTwo, kLastTwo };

  std::vector<std::vector<int>> radices;  // by axis
  Merge merge = Merge::kNone;
  int parts = 1;
  bool anchored = false;
};

// Throws InputError{where, ..}.
FxText ParseFxText(const std::string& text, const std::string& where);

// One round per axis: "8/8/8".
std::string DefaultFxText(const SubGrid& grid);

// Part k takes the axes from k on, around; merged axes side by side, their j-th
// radices in one round.
FxPlan MakeFxPlan(const FxText& text);

// Why the radices do not suit the grid.
std::optional<std::string> WhyNotFx(const FxText& text, const SubGrid& grid);
// Why the first `cut` rounds are no whole axes.
std::optional<std::string> WhyNotCut(const FxPlan& plan, int cut,
                                     const SubGrid& grid);

// Where the messages of one part go.
class FxGeometry {
 public:
  FxGeometry(const SubGrid& grid, std::vector<bool> rings, const FxPart& part,
             bool anchored);

  int rounds() const { return static_cast<int>(rounds_.size()); }
  // In ascending order of the factors' digits; the rank itself may be one.
  std::vector<int> PeersOf(int round, int rank) const;
  // Where a block from `source` to `target` that is at `at` is after the round.
  int NextOf(int round, int at, int source, int target) const;
  // The ranks as numbers on the axes of the first `cut` rounds only.
  int IndexOf(int rank, int cut) const;
  int ChipsOf(int cut) const;  // how many those are

 private:
  struct Factor {
    int axis;
    int radix;
    int window;
    std::vector<int> reach;  // displacements on a ring
    std::vector<int> share;  // on a ring: the one of `reach` by displacement
  };

  Factor MakeFactor(const FxFactor& factor, int window, bool anchored) const;
  void ShareOut();
  std::vector<bool> AxesOf(int cut) const;

  SubGrid grid_;
  std::vector<bool> rings_;  // by axis: wrapped, of more than two
  std::vector<std::vector<Factor>> rounds_;
};

}  // namespace podsim

#endif  // PODSIM_COLLECTIVE_FX_PLAN_H_
