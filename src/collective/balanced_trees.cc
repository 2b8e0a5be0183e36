#include "collective/balanced_trees.h"

#include <algorithm>

#include "topology/fold.h"

namespace podsim {
namespace {

constexpr std::uint8_t kNobody = UINT8_MAX;

std::vector<Generator> GeneratorsOf(const Collective& collective,
                                    const Topology& topology) {
  std::vector<Generator> generators;
  for (const int axis : ActiveAxes(collective, topology)) {
    for (const Sign sign : {Sign::kPlus, Sign::kMinus}) {
      Coordinates hop{};
      hop[axis] = sign == Sign::kPlus ? 1 : -1;
      generators.push_back({axis, sign, hop});
    }
  }
  return generators;
}

// The chip that each generator leads to, from every chip: they are asked for
// once per sub-chunk.
class NextChips {
 public:
  NextChips(const std::vector<Generator>& generators, const Topology& topology)
      : count_(generators.size()) {
    const FoldedGrid grid(topology, NoFold(topology));
    next_.reserve(topology.chips() * count_);
    for (int chip = 0; chip < topology.chips(); ++chip) {
      for (const Generator& along : generators) {
        next_.push_back(grid.Neighbour(chip, along.axis, along.sign));
      }
    }
  }

  std::uint32_t At(std::uint32_t chip, std::size_t generator) const {
    return next_[chip * count_ + generator];
  }
  std::uint32_t Before(std::uint32_t chip, std::size_t generator) const {
    return At(chip, generator ^ 1);
  }

 private:
  std::size_t count_;
  std::vector<std::uint32_t> next_;
};

// Displacements by distance from chip 0, each level in the order of ids, with
// the generators that reach them from one level nearer.
struct Level {
  std::vector<ChipId> at;
  std::vector<std::uint32_t> admissible;
};

std::vector<Level> LevelsFrom0(std::size_t generators,
                               const NextChips& next_chips,
                               const Topology& topology) {
  constexpr std::uint32_t kUnseen = UINT32_MAX;
  std::vector<std::uint32_t> level_of(topology.chips(), kUnseen);
  std::vector<std::uint32_t> admissible(topology.chips(), 0);
  level_of[0] = 0;
  std::vector<ChipId> front = {ChipId(0)};
  std::vector<Level> levels;
  for (std::uint32_t depth = 1; !front.empty(); ++depth) {
    std::vector<ChipId> next;
    for (const ChipId chip : front) {
      for (std::size_t g = 0; g < generators; ++g) {
        const ChipId to(next_chips.At(chip.value(), g));
        if (level_of[to.value()] == kUnseen) {
          level_of[to.value()] = depth;
          next.push_back(to);
        }
        if (level_of[to.value()] == depth) {
          admissible[to.value()] |= 1u << g;
        }
      }
    }
    std::sort(next.begin(), next.end());
    if (!next.empty()) {
      Level level{.at = next, .admissible = {}};
      for (const ChipId chip : next) {
        level.admissible.push_back(admissible[chip.value()]);
      }
      levels.push_back(std::move(level));
    }
    front = std::move(next);
  }
  return levels;
}

// Assigns the jobs of one level to generators so that the fullest has as few as
// possible.
class LevelAssignment {
 public:
  LevelAssignment(std::vector<TreeJob>& jobs, std::vector<int>& totals)
      : jobs_(jobs),
        totals_(totals),
        loads_(totals.size()),
        first_movable_(totals.size() * totals.size()) {}

  void Run() {
    for (TreeJob& job : jobs_) Assign(job);
    while (Uneven() && ShortenFullest()) {
    }
  }

 private:
  int count() const { return static_cast<int>(loads_.size()); }

  bool Uneven() const {
    const auto [least, most] =
        std::minmax_element(loads_.begin(), loads_.end());
    return *most >= *least + 2;
  }

  // The least loaded, then the least loaded so far over all levels, then the
  // first from the sub-chunk's own on.
  void Assign(TreeJob& job) {
    int best = -1;
    int g = job.sub_chunk % count();
    for (int k = 0; k < count(); ++k, g = g + 1 == count() ? 0 : g + 1) {
      if ((job.admissible >> g & 1) == 0) continue;
      if (best < 0 || loads_[g] < loads_[best] ||
          (loads_[g] == loads_[best] && totals_[g] < totals_[best])) {
        best = g;
      }
    }
    job.generator = best;
    ++loads_[best];
    ++totals_[best];
  }

  // Moves jobs along the shortest chain from a fullest generator to one that
  // has at least two fewer; false if there is none, which makes the fullest
  // optimal.
  bool ShortenFullest() {
    const int most = *std::max_element(loads_.begin(), loads_.end());
    for (int g = 0; g < count(); ++g) {
      if (loads_[g] == most && MoveAway(g)) return true;
    }
    return false;
  }

  bool MoveAway(int from) {
    std::vector<std::size_t> moved_by(count());  // job into the generator
    std::vector<int> queue = {from};
    std::vector<bool> seen(count());
    seen[from] = true;
    for (std::size_t k = 0; k < queue.size(); ++k) {
      for (int to = 0; to < count(); ++to) {
        if (seen[to]) continue;
        const std::size_t job = FirstMovable(queue[k], to);
        if (job == jobs_.size()) continue;
        seen[to] = true;
        moved_by[to] = job;
        if (loads_[to] + 2 <= loads_[from]) {
          Apply(from, to, moved_by);
          return true;
        }
        queue.push_back(to);
      }
    }
    return false;
  }

  // The first job of one generator that another may do; jobs_.size(): none.
  std::size_t FirstMovable(int from, int to) {
    std::size_t& job = first_movable_[from * count() + to];
    while (job < jobs_.size() && (jobs_[job].generator != from ||
                                  (jobs_[job].admissible >> to & 1) == 0)) {
      ++job;
    }
    return job;
  }

  void Apply(int from, int to, const std::vector<std::size_t>& moved_by) {
    ++loads_[to], --loads_[from];
    ++totals_[to], --totals_[from];
    while (to != from) {
      TreeJob& job = jobs_[moved_by[to]];
      for (int next = 0; next < count(); ++next) {
        std::size_t& first = first_movable_[to * count() + next];
        first = std::min(first, moved_by[to]);
      }
      const int before = job.generator;
      job.generator = to;
      to = before;
    }
  }

  std::vector<TreeJob>& jobs_;
  std::vector<int>& totals_;  // over all levels so far, by generator
  std::vector<int> loads_;    // of this level
  // No job before it moves from one generator to another: [from][to].
  std::vector<std::size_t> first_movable_;
};

}  // namespace

int BalancedTrees::MostOf(std::size_t level) const {
  std::vector<int> loads(generators.size());
  for (const TreeJob& job : levels[level]) ++loads[job.generator];
  return *std::max_element(loads.begin(), loads.end());
}

BalancedTrees MakeBalancedTrees(const Collective& collective,
                                const Topology& topology, int sub_chunks) {
  BalancedTrees trees{.generators = GeneratorsOf(collective, topology),
                      .levels = {},
                      .feeds = {}};
  std::vector<int> totals(trees.generators.size());
  // The generator of every (displacement, sub-chunk) that has one.
  std::vector<std::uint8_t> used(
      static_cast<std::size_t>(topology.chips()) * sub_chunks, kNobody);
  const NextChips next_chips(trees.generators, topology);
  for (const Level& level :
       LevelsFrom0(trees.generators.size(), next_chips, topology)) {
    std::vector<TreeJob>& jobs = trees.levels.emplace_back();
    jobs.reserve(level.at.size() * sub_chunks);
    for (std::size_t v = 0; v < level.at.size(); ++v) {
      for (int k = 0; k < sub_chunks; ++k) {
        jobs.push_back({level.at[v], k, level.admissible[v], -1});
      }
    }
    LevelAssignment(jobs, totals).Run();
    std::vector<bool>& feeds = trees.feeds.emplace_back();
    feeds.resize(trees.generators.size() * trees.generators.size());
    for (const TreeJob& job : jobs) {
      used[job.at.value() * sub_chunks + job.sub_chunk] =
          static_cast<std::uint8_t>(job.generator);
      const std::uint32_t parent =
          next_chips.Before(job.at.value(), job.generator);
      const std::uint8_t before = used[parent * sub_chunks + job.sub_chunk];
      if (before != kNobody) {
        feeds[job.generator * trees.generators.size() + before] = true;
      }
    }
  }
  return trees;
}

}  // namespace podsim
