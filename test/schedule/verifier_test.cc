#include "schedule/verifier.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "test/support/lowered.h"

namespace podsim {
namespace {

using Texts = std::vector<std::string>;
using Ids = std::vector<std::uint32_t>;

constexpr Sign kPlus = Sign::kPlus;
constexpr Sign kMinus = Sign::kMinus;

// A schedule written op by op, and what it must compute: chunk i belongs to
// rank i of one group of all chips, kBytes each.
constexpr std::int64_t kBytes = 10;

class Hand {
 public:
  explicit Hand(Slice slice) : slice_(std::move(slice)) {}

  Topology& topology() { return slice_.topology; }
  Schedule& schedule() { return schedule_; }

  std::vector<OpId> Ops(const Ids& ids) const {
    std::vector<OpId> ops;
    for (const std::uint32_t id : ids) ops.emplace_back(id);
    return ops;
  }
  ChunkSet Chunks(const Ids& ids) {
    std::vector<ChunkRun> runs;
    for (const std::uint32_t id : ids) runs.push_back({id, 1});
    return {schedule_.AddRuns(runs), ChipId(0)};
  }
  // Along links of a 1D slice, from `src` on.
  std::uint32_t Send(std::uint32_t src, const std::vector<Sign>& hops,
                     const Ids& chunks, Mode mode, const Ids& after = {}) {
    std::vector<LinkId> route;
    ChipId at(src);
    for (const Sign sign : hops) {
      route.push_back(slice_.topology.LinkAt(at, 0, sign));
      at = *slice_.topology.Neighbour(at, 0, sign);
    }
    return Send(src, at.value(), route, chunks, mode, after);
  }
  std::uint32_t Send(std::uint32_t src, std::uint32_t dst,
                     const std::vector<LinkId>& route, const Ids& chunks,
                     Mode mode, const Ids& after = {}) {
    const auto bytes = kBytes * static_cast<std::int64_t>(chunks.size());
    return schedule_
        .Add({.src = ChipId(src),
              .dst = ChipId(dst),
              .chunks = Chunks(chunks),
              .bytes = Bytes(bytes),
              .mode = mode},
             route, Ops(after))
        .value();
  }
  std::uint32_t Add(std::uint32_t chip, const Ids& chunks,
                    std::uint32_t scratch_of, const Ids& after) {
    return schedule_
        .AddLocal(ChipId(chip), Chunks(chunks), OpId(scratch_of), Seconds(0),
                  Ops(after))
        .value();
  }

  // nullopt: everyone. `chunks`: how many; chunk i has owner i.
  using Party = std::optional<ChipId> (*)(std::uint32_t owner);
  Texts Verify(Party contributor, Party receiver, int chunks) const {
    CollectiveMeaning meaning{.kind = "test",
                              .payload = Bytes(kBytes * chunks),
                              .groups = {{}},
                              .root = {},
                              .chunks = {}};
    for (int id = 0; id < slice_.topology.chips(); ++id) {
      meaning.groups[0].emplace_back(id);
    }
    for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(chunks); ++c) {
      meaning.chunks.push_back({.group = 0,
                                .owner = c,
                                .bytes = Bytes(kBytes),
                                .contributor = contributor(c),
                                .receiver = receiver(c)});
    }
    return VerifyFull(schedule_, meaning, slice_.topology).texts();
  }
  Texts AllGather() const {
    return Verify(Owner, All, slice_.topology.chips());
  }
  Texts ReduceScatter() const {
    return Verify(All, Owner, slice_.topology.chips());
  }
  Texts AllReduce(int chunks) const { return Verify(All, All, chunks); }

  static std::optional<ChipId> All(std::uint32_t) { return std::nullopt; }
  static std::optional<ChipId> Owner(std::uint32_t owner) {
    return ChipId(owner);
  }
  static std::optional<ChipId> Zero(std::uint32_t) { return ChipId(0); }

 private:
  Slice slice_;
  Schedule schedule_;
};

// Line 0 - 1 - 2, all-gather: 4.4 of the algorithms.
Hand LineGather() {
  Hand hand(MakeMesh({3}));
  hand.Send(0, {kPlus}, {0}, Mode::kCopy);        // 0
  hand.Send(1, {kMinus}, {1}, Mode::kCopy);       // 1
  hand.Send(1, {kPlus}, {1}, Mode::kCopy);        // 2
  hand.Send(2, {kMinus}, {2}, Mode::kCopy);       // 3
  hand.Send(1, {kPlus}, {0}, Mode::kCopy, {0});   // 4
  hand.Send(1, {kMinus}, {2}, Mode::kCopy, {3});  // 5
  return hand;
}

TEST_CASE("a correct hand-made schedule has no violations", "[schedule]") {
  CHECK(LineGather().AllGather() == Texts{});
}

// ---- structure ----------------------------------------------------------

TEST_CASE("a transfer over a dead link is a violation", "[schedule]") {
  Hand hand = LineGather();
  hand.topology().Kill(hand.topology().LinkAt(ChipId(1), 0, kPlus));
  CHECK(hand.AllGather() ==
        Texts{"op 2 uses a link that does not exist or is dead",
              "op 4 uses a link that does not exist or is dead"});
}

TEST_CASE("a transfer to a dead chip is a violation", "[schedule]") {
  Hand hand = LineGather();
  hand.topology().Kill(ChipId(2));
  CHECK(hand.AllGather() ==
        Texts{"op 2 uses a link that does not exist or is dead",
              "op 3 uses a link that does not exist or is dead",
              "op 4 uses a link that does not exist or is dead"});
}

TEST_CASE("a link that no cable has is a violation", "[schedule]") {
  Hand hand = LineGather();
  // Past the end of the line, and past all link ids.
  hand.Send(2, 0, {hand.topology().LinkAt(ChipId(2), 0, kPlus)}, {2},
            Mode::kCopy, {5});
  hand.Send(2, 0, {LinkId(1000)}, {2}, Mode::kCopy, {6});
  CHECK(hand.AllGather() ==
        Texts{"op 6 uses a link that does not exist or is dead",
              "op 7 uses a link that does not exist or is dead"});
}

TEST_CASE("a route of several hops must be a path to the destination",
          "[schedule]") {
  const Slice ring = MakeTorus({5});
  const auto link = [&](std::uint32_t chip, Sign sign) {
    return ring.topology.LinkAt(ChipId(chip), 0, sign);
  };
  struct Row {
    std::vector<LinkId> route;
    Texts expected;
  };
  const std::vector<Row> rows = {
      {{link(0, kPlus), link(1, kPlus)}, {}},
      {{link(0, kMinus), link(4, kMinus), link(3, kMinus)}, {}},
      {{link(0, kPlus), link(1, kMinus), link(0, kPlus), link(1, kPlus)}, {}},
      {{link(0, kPlus), link(2, kMinus)},
       {"op 0: route is not a path: link 2:x- does not start at chip (1)"}},
      {{link(1, kPlus)},
       {"op 0: route is not a path: link 1:x+ does not start at chip (0)"}},
      {{link(0, kPlus)},
       {"op 0: route ends at chip (1), not at its destination chip (2)"}},
      {{link(0, kPlus), link(1, kPlus), link(2, kPlus)},
       {"op 0: route ends at chip (3), not at its destination chip (2)"}}};
  for (const Row& row : rows) {
    Hand hand(ring);
    hand.Send(0, 2, row.route, {0}, Mode::kCopy);
    const auto two = [](std::uint32_t) { return std::optional(ChipId(2)); };
    CHECK(hand.Verify(Hand::Zero, two, 1) == row.expected);
  }
}

TEST_CASE("the bytes of a transfer are those of its chunks", "[schedule]") {
  for (const std::int64_t bytes : {0, 19, 20, 21}) {
    Hand hand(MakeMesh({2}));
    const ChunkSet both = hand.Chunks({0, 1});
    hand.schedule().Add({.src = ChipId(0),
                         .dst = ChipId(1),
                         .chunks = both,
                         .bytes = Bytes(bytes)},
                        hand.topology().LinkAt(ChipId(0), 0, kPlus), {});
    const Texts expected = bytes == 20
                               ? Texts{}
                               : Texts{"op 0 moves " + std::to_string(bytes) +
                                       " bytes, but its chunks have 20"};
    CHECK(hand.Verify(Hand::Zero, Hand::All, 2) == expected);
  }
}

// ---- dataflow -----------------------------------------------------------

TEST_CASE("sending a chunk before it is there is a violation", "[schedule]") {
  Hand hand(MakeMesh({3}));
  hand.Send(1, {kPlus}, {0}, Mode::kCopy);
  hand.Send(0, {kPlus}, {0}, Mode::kCopy, {0});
  CHECK(hand.Verify(Hand::Zero, Hand::All, 1) ==
        Texts{"op 0 reads chunk 0 of chip (1), which is not there",
              "chunk 0 of chip (2) ends empty, expected the shard of its "
              "owner"});
}

TEST_CASE("adding to a chunk that is not there is a violation", "[schedule]") {
  Hand hand(MakeMesh({2}));
  hand.Send(0, {kPlus}, {0}, Mode::kReduce);
  CHECK(hand.Verify(Hand::Zero, Hand::All, 1) ==
        Texts{"op 0 adds into chunk 0 of chip (1), which is not there"});
}

TEST_CASE("what is added more than twice is still the contribution of a rank",
          "[schedule]") {
  Hand hand(MakeMesh({2}));
  hand.Send(0, {kPlus}, {0}, Mode::kReduce);           // 0: fine
  hand.Send(0, {kPlus}, {0}, Mode::kReduce, {0});      // 1: again
  hand.Send(1, {kMinus}, {0}, Mode::kReduce, {0, 1});  // 2: back
  hand.Send(1, {kMinus}, {0}, Mode::kReduce, {2});     // 3: and again
  const std::string first = " adds the contribution of chip (0) to chunk 0 of ";
  CHECK(hand.Verify(Hand::All, Hand::All, 1) ==
        Texts{"op 1" + first + "chip (1) a second time",
              "op 2" + first + "chip (0) a second time",
              "op 3" + first + "chip (0) a second time",
              // 1 + 3 + 3 and 1 + 1 + 1 of them.
              "chunk 0 of chip (0) ends with 7 contributions, expected the sum "
              "of all 2",
              "chunk 0 of chip (1) ends with 3 contributions, expected the sum "
              "of all 2"});
}

TEST_CASE("a contribution that is added twice is named", "[schedule]") {
  // 2 -> 1 -> 0, and chip 1 sends its sum a second time.
  Hand hand(MakeMesh({3}));
  hand.Send(2, {kMinus}, {0}, Mode::kReduce);
  hand.Send(1, {kMinus}, {0}, Mode::kReduce, {0});
  hand.Send(1, {kMinus}, {0}, Mode::kReduce, {1});
  CHECK(hand.Verify(Hand::All, Hand::Zero, 1) ==
        Texts{"op 2 adds the contribution of chip (1) to chunk 0 of chip (0) a "
              "second time",
              "chunk 0 of chip (0) ends with 5 contributions, expected the sum "
              "of all 3"});
}

TEST_CASE("adding where a copy was due counts twice, copying loses",
          "[schedule]") {
  Hand add(MakeMesh({2}));  // AR: 1 sends to 0, 0 sends the sum back
  add.Send(1, {kMinus}, {0}, Mode::kReduce);
  add.Send(0, {kPlus}, {0}, Mode::kReduce, {0});
  CHECK(add.AllReduce(1) ==
        Texts{"op 1 adds the contribution of chip (1) to chunk 0 of chip (1) a "
              "second time",
              "chunk 0 of chip (1) ends with 3 contributions, expected the sum "
              "of all 2"});
  Hand copy(MakeMesh({2}));
  copy.Send(1, {kMinus}, {0}, Mode::kCopy);
  copy.Send(0, {kPlus}, {0}, Mode::kCopy, {0});
  CHECK(copy.AllReduce(1) ==
        Texts{"chunk 0 of chip (0) ends with 1 contributions, expected the sum "
              "of all 2",
              "chunk 0 of chip (1) ends with 1 contributions, expected the sum "
              "of all 2"});
}

TEST_CASE("sums over more than 64 chips are compared by fingerprints",
          "[schedule]") {
  constexpr std::uint32_t kChips = 66;
  const auto reduce = [](std::uint32_t first, Hand& hand, Ids after) {
    for (std::uint32_t chip = first; chip > 0; --chip) {
      after = {hand.Send(chip, {kMinus}, {0}, Mode::kReduce, after)};
    }
    return after;
  };
  Hand clean(MakeMesh({kChips}));
  reduce(kChips - 1, clean, {});
  CHECK(clean.Verify(Hand::All, Hand::Zero, 1) == Texts{});

  Hand doubled(MakeMesh({kChips}));
  const Ids last = reduce(kChips - 1, doubled, {});
  doubled.Send(1, {kMinus}, {0}, Mode::kReduce, last);
  CHECK(doubled.Verify(Hand::All, Hand::Zero, 1) ==
        Texts{"op 65 adds a contribution to chunk 0 of chip (0) a second time",
              "chunk 0 of chip (0) ends with 131 contributions, expected the "
              "sum of all 66"});

  // Chip 2 counts twice and chip 65 not at all: the count is right.
  Hand swapped(MakeMesh({kChips}));
  const std::uint32_t early = swapped.Send(2, {kMinus}, {0}, Mode::kReduce);
  reduce(kChips - 2, swapped, {early});
  CHECK(swapped.Verify(Hand::All, Hand::Zero, 1) ==
        Texts{"chunk 0 of chip (0) ends with wrong contributions, expected the "
              "sum of all 66"});
}

TEST_CASE("each kind ends with its own postcondition", "[schedule]") {
  // Line 0 - 1 - 2.
  const Slice line = MakeMesh({3});
  Hand broadcast(line);
  broadcast.Send(0, {kPlus}, {0}, Mode::kCopy);
  CHECK(broadcast.Verify(Hand::Zero, Hand::All, 1) ==
        Texts{"chunk 0 of chip (2) ends empty, expected the shard of its "
              "owner"});
  broadcast.Send(1, {kPlus}, {0}, Mode::kCopy, {0});
  CHECK(broadcast.Verify(Hand::Zero, Hand::All, 1) == Texts{});

  Hand reduce(line);
  reduce.Send(1, {kMinus}, {0}, Mode::kReduce);
  CHECK(reduce.Verify(Hand::All, Hand::Zero, 1) ==
        Texts{"chunk 0 of chip (0) ends with 2 contributions, expected the sum "
              "of all 3"});
  reduce.Send(2, {kMinus, kMinus}, {0}, Mode::kReduce);  // two hops
  CHECK(reduce.Verify(Hand::All, Hand::Zero, 1) == Texts{});

  Hand gather(line);
  gather.Send(1, {kMinus}, {1}, Mode::kCopy);
  CHECK(gather.Verify(Hand::Owner, Hand::Zero, 3) ==
        Texts{"chunk 2 of chip (0) ends empty, expected the shard of its "
              "owner"});
  gather.Send(2, {kMinus, kMinus}, {2}, Mode::kCopy);
  CHECK(gather.Verify(Hand::Owner, Hand::Zero, 3) == Texts{});

  Hand scatter(line);
  scatter.Send(0, {kPlus}, {1, 2}, Mode::kCopy);
  CHECK(scatter.Verify(Hand::Zero, Hand::Owner, 3) ==
        Texts{"chunk 2 of chip (2) ends empty, expected the shard of its "
              "owner"});
  scatter.Send(1, {kPlus}, {2}, Mode::kCopy, {0});
  CHECK(scatter.Verify(Hand::Zero, Hand::Owner, 3) == Texts{});

  Hand shift(line);  // collective-permute 0 -> 1 -> 2 -> 0: chunk i to i + 1
  const auto next = [](std::uint32_t owner) {
    return std::optional(ChipId((owner + 1) % 3));
  };
  shift.Send(0, {kPlus}, {0}, Mode::kCopy);
  shift.Send(1, {kPlus}, {1}, Mode::kCopy);
  CHECK(shift.Verify(Hand::Owner, next, 3) ==
        Texts{"chunk 2 of chip (0) ends empty, expected the shard of its "
              "owner"});
  shift.Send(2, {kMinus, kMinus}, {2}, Mode::kCopy);
  CHECK(shift.Verify(Hand::Owner, next, 3) == Texts{});
}

TEST_CASE("a chunk without bytes need not move", "[schedule]") {
  const Slice slice = MakeMesh({2});
  CollectiveMeaning meaning{.kind = "all-gather",
                            .payload = Bytes(1),
                            .groups = {{ChipId(0), ChipId(1)}},
                            .root = {},
                            .chunks = {}};
  meaning.chunks = {{.group = 0,
                     .owner = 0,
                     .bytes = Bytes(1),
                     .contributor = ChipId(0),
                     .receiver = {}},
                    {.group = 0,
                     .owner = 1,
                     .bytes = Bytes(0),
                     .contributor = ChipId(1),
                     .receiver = {}}};
  CHECK(VerifyFull(Schedule(), meaning, slice.topology).texts() ==
        Texts{"chunk 0 of chip (1) ends empty, expected the shard of its "
              "owner"});
}

// ---- hazards ------------------------------------------------------------

std::string Unordered(int op, int other, int chunk, int chip) {
  return "op " + std::to_string(op) + " and op " + std::to_string(other) +
         " both use chunk " + std::to_string(chunk) + " of chip (" +
         std::to_string(chip) +
         "), one writes it, and no dependence orders them";
}

// A read before its write is reported; what follows from it on the same chunk
// may be. `all`: everything that is wrong, in order.
void CheckFirstOf(const Texts& found, const Texts& all) {
  REQUIRE_FALSE(found.empty());
  CHECK(found.front() == all.front());
  for (const std::string& text : found) {
    CAPTURE(text);
    CHECK(std::find(all.begin(), all.end(), text) != all.end());
  }
}

TEST_CASE("forwarding must wait for the arrival", "[schedule]") {
  Hand hand(MakeMesh({3}));
  hand.Send(0, {kPlus}, {0}, Mode::kCopy);
  hand.Send(1, {kPlus}, {0}, Mode::kCopy);
  CHECK(hand.Verify(Hand::Zero, Hand::All, 1) == Texts{Unordered(1, 0, 0, 1)});
}

TEST_CASE("an order by way of other ops is an order", "[schedule]") {
  Hand hand(MakeMesh({4}));
  hand.Send(0, {kPlus}, {0}, Mode::kCopy);  // 0
  hand.schedule().AddCompute(ChipId(3), Seconds(1), hand.Ops({0}));
  hand.schedule().AddCompute(ChipId(0), Seconds(1), hand.Ops({1}));
  hand.Send(1, {kPlus}, {0}, Mode::kCopy, {2});  // 3
  hand.Send(2, {kPlus}, {0}, Mode::kCopy, {3});  // 4
  CHECK(hand.Verify(Hand::Zero, Hand::All, 1) == Texts{});
}

TEST_CASE("overwriting what is still being sent is a violation", "[schedule]") {
  for (const bool ordered : {false, true}) {
    Hand hand(MakeMesh({3}));
    hand.Send(0, {kPlus}, {0}, Mode::kCopy);
    hand.Send(1, {kPlus}, {0}, Mode::kCopy, {0});
    // An equal copy, harmless once nobody reads the old one.
    hand.Send(0, {kPlus}, {0}, Mode::kCopy, {ordered ? 1U : 0U});
    CHECK(hand.Verify(Hand::Zero, Hand::All, 1) ==
          (ordered ? Texts{} : Texts{Unordered(2, 1, 0, 1)}));
  }
}

TEST_CASE("two unordered copies into one chunk are a violation", "[schedule]") {
  for (const bool ordered : {false, true}) {
    Hand hand(MakeTorus({3}));
    hand.Send(0, {kPlus}, {0}, Mode::kCopy);
    hand.Send(0, {kMinus}, {0}, Mode::kCopy);  // to chip 2
    hand.Send(2, {kMinus}, {0}, Mode::kCopy, ordered ? Ids{0, 1} : Ids{1});
    CHECK(hand.Verify(Hand::Zero, Hand::All, 1) ==
          (ordered ? Texts{} : Texts{Unordered(2, 0, 0, 1)}));
  }
}

TEST_CASE("adds commute, but not with a read", "[schedule]") {
  Hand adds(MakeMesh({3}));  // both ends add to the middle, unordered
  adds.Send(0, {kPlus}, {0}, Mode::kReduce);
  adds.Send(2, {kMinus}, {0}, Mode::kReduce);
  const auto one = [](std::uint32_t) { return std::optional(ChipId(1)); };
  CHECK(adds.Verify(Hand::All, one, 1) == Texts{});

  for (const Ids& after : {Ids{0}, Ids{1}, Ids{0, 1}}) {
    Hand hand = adds;
    hand.Send(1, {kPlus}, {0}, Mode::kCopy, after);
    hand.Send(1, {kMinus}, {0}, Mode::kCopy, {0, 1});
    // The sum read while the other end may still add to it.
    Texts expected;
    if (after == Ids{0}) expected = {Unordered(2, 1, 0, 1)};
    // Chip 2 sends its contribution while the sum overwrites it.
    if (after == Ids{0}) expected.push_back(Unordered(2, 1, 0, 2));
    if (after == Ids{1}) expected = {Unordered(2, 0, 0, 1)};
    if (expected.empty()) {
      CHECK(hand.AllReduce(1) == Texts{});
    } else {
      CheckFirstOf(hand.AllReduce(1), expected);
    }
  }
}

TEST_CASE("an add and a later copy into one chunk must be ordered",
          "[schedule]") {
  for (const bool ordered : {false, true}) {
    // Chip 1 adds into chip 0; chip 2's sum of all three then overwrites it.
    Hand hand(MakeTorus({3}));
    hand.Send(1, {kMinus}, {0}, Mode::kReduce);       // 0: {0, 1} at 0
    hand.Send(0, {kMinus}, {0}, Mode::kReduce, {0});  // 1: all at 2
    hand.Send(2, {kMinus}, {0}, Mode::kCopy, {1});    // 2: to 1
    hand.Send(2, {kPlus}, {0}, Mode::kCopy,
              ordered ? Ids{1} : Ids{});  // 3: to 0
    const Texts found = hand.AllReduce(1);
    if (ordered) {
      CHECK(found == Texts{});
    } else {
      CheckFirstOf(found, {Unordered(3, 1, 0, 2), Unordered(3, 1, 0, 0),
                           Unordered(3, 0, 0, 0)});
    }
  }
}

// ---- scratch and local adds ---------------------------------------------

// Recursive doubling on a ring of 4, one chunk: partners exchange to scratch,
// and add when their own send and the arrival have ended.
Hand RecursiveDoubling() {
  Hand hand(MakeTorus({4}));
  hand.Send(0, {kPlus}, {0}, Mode::kScratch);   // 0: 0 -> 1
  hand.Send(1, {kMinus}, {0}, Mode::kScratch);  // 1: 1 -> 0
  hand.Send(2, {kPlus}, {0}, Mode::kScratch);   // 2: 2 -> 3
  hand.Send(3, {kMinus}, {0}, Mode::kScratch);  // 3: 3 -> 2
  hand.Add(0, {0}, 1, {0, 1});                  // 4
  hand.Add(1, {0}, 0, {0, 1});                  // 5
  hand.Add(2, {0}, 3, {2, 3});                  // 6
  hand.Add(3, {0}, 2, {2, 3});                  // 7
  for (std::uint32_t chip = 0; chip < 4; ++chip) {
    hand.Send(chip, {kPlus, kPlus}, {0}, Mode::kScratch, {4 + chip});  // 8..11
  }
  for (std::uint32_t chip = 0; chip < 4; ++chip) {
    const std::uint32_t partner = (chip + 2) % 4;
    hand.Add(chip, {0}, 8 + partner, {8 + chip, 8 + partner});  // 12..15
  }
  return hand;
}

TEST_CASE("an exchange by way of scratch adds every contribution once",
          "[schedule]") {
  CHECK(RecursiveDoubling().AllReduce(1) == Texts{});
}

TEST_CASE("an exchange without scratch is a hazard", "[schedule]") {
  Hand hand(MakeMesh({2}));
  hand.Send(0, {kPlus}, {0}, Mode::kReduce);
  hand.Send(1, {kMinus}, {0}, Mode::kReduce);
  CheckFirstOf(
      hand.AllReduce(1),
      {Unordered(1, 0, 0, 1), Unordered(1, 0, 0, 0),
       "op 1 adds the contribution of chip (0) to chunk 0 of chip (0) a "
       "second time",
       "chunk 0 of chip (0) ends with 3 contributions, expected the sum of "
       "all 2"});
}

TEST_CASE("what lies in scratch is missing until it is added", "[schedule]") {
  Hand hand(MakeMesh({2}));
  hand.Send(1, {kMinus}, {0}, Mode::kScratch);
  CHECK(hand.Verify(Hand::All, Hand::Zero, 1) ==
        Texts{"chunk 0 of chip (0) ends with 1 contributions, expected the sum "
              "of all 2"});
  hand.Add(0, {0}, 0, {0});
  CHECK(hand.Verify(Hand::All, Hand::Zero, 1) == Texts{});
  hand.Add(0, {0}, 0, {1});
  CHECK(hand.Verify(Hand::All, Hand::Zero, 1) ==
        Texts{"op 2 adds the contribution of chip (1) to chunk 0 of chip (0) a "
              "second time",
              "chunk 0 of chip (0) ends with 3 contributions, expected the sum "
              "of all 2"});
}

TEST_CASE("a local add must name an earlier scratch transfer to its chip",
          "[schedule]") {
  Hand hand(MakeMesh({2}));
  hand.Send(1, {kMinus}, {0}, Mode::kReduce);       // 0: no scratch
  hand.Send(0, {kPlus}, {0}, Mode::kScratch, {0});  // 1: to the other chip
  hand.schedule().AddCompute(ChipId(0), Seconds(1), {});  // 2: no transfer
  for (const std::uint32_t transfer : {0U, 1U, 2U}) {
    Hand broken = hand;
    broken.Add(0, {0}, transfer, {0, 1, 2});
    const Texts found = broken.Verify(Hand::All, Hand::Zero, 1);
    REQUIRE_FALSE(found.empty());
    CHECK(found[0] == "op 3 adds from op " + std::to_string(transfer) +
                          ", which is no earlier scratch transfer to chip (0)");
  }
}

TEST_CASE("a local add must wait for its transfer and own sends",
          "[schedule]") {
  Hand early(MakeMesh({2}));
  early.Send(1, {kMinus}, {0}, Mode::kScratch);
  early.Add(0, {0}, 0, {});
  CHECK(early.Verify(Hand::All, Hand::Zero, 1) ==
        Texts{"op 1 does not wait for op 0, whose scratch it adds"});

  Hand busy(MakeMesh({2}));
  busy.Send(0, {kPlus}, {0}, Mode::kScratch);
  busy.Send(1, {kMinus}, {0}, Mode::kScratch);
  busy.Add(0, {0}, 1, {1});  // while op 0 reads the chunk
  busy.Add(1, {0}, 0, {0, 1});
  CHECK(busy.AllReduce(1) == Texts{Unordered(2, 0, 0, 0)});
}

TEST_CASE("a local add takes only what its transfer brought", "[schedule]") {
  Hand hand(MakeMesh({2}));
  hand.Send(1, {kMinus}, {0}, Mode::kScratch);
  hand.Add(0, {0, 1}, 0, {0});
  CHECK(hand.Verify(Hand::All, Hand::Zero, 2) ==
        Texts{"op 1 adds chunk 1, which op 0 did not bring",
              "chunk 1 of chip (0) ends with 1 contributions, expected the sum "
              "of all 2"});
}

// ---- scale --------------------------------------------------------------

TEST_CASE("chunks beyond one block of cells are replayed as well",
          "[schedule]") {
  // 4096 chips x 1500 chunks: more than the 4 million cells held at a time.
  // Every chunk stays at its owner but the last, which goes from chip 0 to 1.
  const Slice slice = MakeMesh({4096});
  constexpr std::uint32_t kChunks = 1500;
  CollectiveMeaning meaning{.kind = "test",
                            .payload = Bytes(kChunks),
                            .groups = {{}},
                            .root = {},
                            .chunks = {}};
  for (std::uint32_t id = 0; id < 4096; ++id) {
    meaning.groups[0].emplace_back(id);
  }
  for (std::uint32_t c = 0; c < kChunks; ++c) {
    const bool last = c == kChunks - 1;
    meaning.chunks.push_back({.group = 0,
                              .owner = last ? 0 : c,
                              .bytes = Bytes(1),
                              .contributor = ChipId(last ? 0 : c),
                              .receiver = ChipId(last ? 1 : c)});
  }
  Schedule schedule;
  CHECK(VerifyFull(schedule, meaning, slice.topology).texts() ==
        Texts{"chunk 1499 of chip (1) ends empty, expected the shard of its "
              "owner"});
  const std::vector<ChunkRun> last = {{kChunks - 1, 1}};
  schedule.Add({.src = ChipId(0),
                .dst = ChipId(1),
                .chunks = {schedule.AddRuns(last), ChipId(0)},
                .bytes = Bytes(1)},
               slice.topology.LinkAt(ChipId(0), 0, kPlus), {});
  CHECK(VerifyFull(schedule, meaning, slice.topology).texts() == Texts{});
}

TEST_CASE("violations beyond the first thousand are counted, not kept",
          "[schedule]") {
  Violations violations;
  CHECK(violations.empty());
  for (int k = 0; k < 1500; ++k) violations.Add(std::to_string(k));
  CHECK_FALSE(violations.empty());
  CHECK(violations.count() == 1500);
  REQUIRE(violations.texts().size() == 1000);
  CHECK(violations.texts().back() == "999");
}

TEST_CASE("groups are verified apart", "[schedule]") {
  // Two lines of 2 (groups along x of 2x2): chunk 2 of group 1 never moves.
  const Slice slice = MakeMesh({2, 2});
  const Lowered lowered = LowerOn(slice, Spec("line"),
                                  {.kind = CollectiveKind::kAllGather,
                                   .payload = Bytes(2 * kBytes),
                                   .axes = {0}});
  CHECK(VerifyFull(lowered.schedule, lowered.meaning, slice.topology).texts() ==
        Texts{});
  Schedule shorter;
  for (const SchedulePattern& pattern : lowered.schedule.patterns()) {
    shorter.AddPattern(pattern);
  }
  for (std::uint32_t op = 0; op < lowered.schedule.size(); ++op) {
    if (lowered.schedule.src(OpId(op)) == ChipId(2)) continue;
    shorter.Add({.src = lowered.schedule.src(OpId(op)),
                 .dst = lowered.schedule.dst(OpId(op)),
                 .chunks = lowered.schedule.chunks(OpId(op)),
                 .bytes = lowered.schedule.bytes(OpId(op))},
                lowered.schedule.route(OpId(op)), {});
  }
  CHECK(VerifyFull(shorter, lowered.meaning, slice.topology).texts() ==
        Texts{"chunk 2 of chip (1,1) ends empty, expected the shard of its "
              "owner"});
}

}  // namespace
}  // namespace podsim
