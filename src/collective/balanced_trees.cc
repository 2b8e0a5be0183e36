#include "collective/balanced_trees.h"

#include <algorithm>
#include <optional>

namespace podsim {
namespace {

constexpr std::uint8_t kNobody = UINT8_MAX;

Coordinates Negated(Coordinates hops) {
  for (int& count : hops) count = -count;
  return hops;
}

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

// Displacements by distance from chip 0, each level in the order of ids, with
// the generators that reach them from one level nearer.
struct Level {
  std::vector<ChipId> at;
  std::vector<std::uint32_t> admissible;
};

std::vector<Level> LevelsFrom0(const std::vector<Generator>& generators,
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
      for (std::size_t g = 0; g < generators.size(); ++g) {
        const ChipId to = topology.Translate(chip, generators[g].hop);
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
      : jobs_(jobs), totals_(totals), loads_(totals.size()) {}

  void Run() {
    for (TreeJob& job : jobs_) Assign(job);
    while (ShortenFullest()) {
    }
  }

 private:
  int count() const { return static_cast<int>(loads_.size()); }

  // The least loaded, then the least loaded so far over all levels.
  void Assign(TreeJob& job) {
    int best = -1;
    const auto rotated = [&](int g) {
      return (g - job.sub_chunk % count() + count()) % count();
    };
    for (int g = 0; g < count(); ++g) {
      if ((job.admissible >> g & 1) == 0) continue;
      if (best < 0 ||
          std::tuple(loads_[g], totals_[g], rotated(g)) <
              std::tuple(loads_[best], totals_[best], rotated(best))) {
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
    std::vector<TreeJob*> moved_by(count(), nullptr);  // into the generator
    std::vector<int> queue = {from};
    std::vector<bool> seen(count());
    seen[from] = true;
    for (std::size_t k = 0; k < queue.size(); ++k) {
      for (TreeJob& job : jobs_) {
        if (job.generator != queue[k]) continue;
        for (int to = 0; to < count(); ++to) {
          if (seen[to] || (job.admissible >> to & 1) == 0) continue;
          seen[to] = true;
          moved_by[to] = &job;
          if (loads_[to] + 2 <= loads_[from]) {
            Apply(from, to, moved_by);
            return true;
          }
          queue.push_back(to);
        }
      }
    }
    return false;
  }

  void Apply(int from, int to, const std::vector<TreeJob*>& moved_by) {
    ++loads_[to], --loads_[from];
    ++totals_[to], --totals_[from];
    while (to != from) {
      TreeJob& job = *moved_by[to];
      const int before = job.generator;
      job.generator = to;
      to = before;
    }
  }

  std::vector<TreeJob>& jobs_;
  std::vector<int>& totals_;  // over all levels so far, by generator
  std::vector<int> loads_;    // of this level
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
  for (const Level& level : LevelsFrom0(trees.generators, topology)) {
    std::vector<TreeJob>& jobs = trees.levels.emplace_back();
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
      const ChipId parent = topology.Translate(
          job.at, Negated(trees.generators[job.generator].hop));
      const std::uint8_t before =
          used[parent.value() * sub_chunks + job.sub_chunk];
      if (before != kNobody) {
        feeds[job.generator * trees.generators.size() + before] = true;
      }
    }
  }
  return trees;
}

}  // namespace podsim
