// Bad inputs and the full message of each: where, what was found, what was
// expected, and the remedy if there is one. Exit status 2, nothing on stdout,
// no output file touched.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

// An output that every run is asked for where its command takes one.
constexpr char kOutput[] = "out.json";

struct BadInput {
  std::string command;  // words
  std::string message;
  std::string file = {};  // text of bad.json
};

void RequireRefused(const BadInput& bad) {
  CAPTURE(bad.command, bad.file.substr(0, 200));
  const TemporaryFolder folder;
  folder.Write(kOutput, "as it was");
  std::filesystem::create_directory(folder.path() / "folder");
  if (!bad.file.empty()) folder.Write("bad.json", bad.file);
  const std::vector<std::string> before = folder.List();
  std::vector<std::string> args = Words(bad.command);
  const bool takes_output =
      !args.empty() && (args[0] == "collective" || args[0] == "compare" ||
                        args[0] == "simulate");
  if (takes_output && bad.command.find("--json") == std::string::npos) {
    args.insert(args.end(), {"--json", kOutput});
  }
  const Outcome outcome = Podsim(args, folder.path());
  CHECK(outcome.err == "podsim: error: " + bad.message + "\n");
  CHECK(outcome.status == 2);
  CHECK(outcome.out == "");
  CHECK(folder.List() == before);
  CHECK(folder.Read(kOutput) == "as it was");
}

void RequireRefused(const std::vector<BadInput>& table) {
  for (const BadInput& bad : table) RequireRefused(bad);
}

const std::string kCommands =
    "simulate, explain, collective, compare, lower, verify, sweep, merge, "
    "check, topology, lowerings, generations, completions";
const std::string kUnits = " (known: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)";
const std::string kLowerings =
    " (known: auto, ring, ring-split, ring-short, line, bucket, "
    "bucket-rotated, bfb, line-middle, chain, bfs-tree, double-binary-tree, "
    "binomial, direct, direct-twisted, ragged, one-shot, "
    "recursive-doubling, halving-doubling, swing, bruck, staged, "
    "staged-rotated, neighbor, hierarchical, "
    "split-shift, windowed-matmul, hamiltonian, hamiltonian-pair, greedy, "
    "edge-disjoint-trees, spanning-trees, tree-packing, detour, fx, "
    "swing-exchange, axis-exchange)";
const std::string kInsteadOfDead =
    "use direct or bfs-tree, which go around faults";
const std::string kParameters =
    " (known: ici.bandwidth, ici.hop_latency, ici.message_overhead, ici.issue, "
    "ici.window, collective.launch, hbm.bandwidth, hbm.capacity, "
    "chip.flops.bf16, chip.flops.int8, chip.flops.fp8, chip.flops.fp4, "
    "dcn.bandwidth, dcn.latency, host.chips)";
const std::string kCubeFaults =
    "expected coordinates below 4,4,4 and a direction that has a cable, such "
    "as 0,0,0:x+";

// A collective on a cube, with more flags.
std::string OnCube(const std::string& flags) {
  return "collective all-reduce --slice v5p:4x4x4 --bytes 1MiB " + flags;
}
std::string OnSlice(const std::string& slice) {
  return "collective all-reduce --bytes 1MiB --slice " + slice;
}
std::string OfBytes(const std::string& bytes) {
  return "collective all-reduce --slice v5p:4x4x4 --bytes \"" + bytes + "\"";
}

TEST_CASE("command lines that cannot be used are refused", "[cli]") {
  const std::string help = "; see `podsim collective --help`";
  RequireRefused({
      {"",
       "expected a command (known: " + kCommands + "); see `podsim --help`"},
      {"simulat workload.json",
       "unknown command \"simulat\"; did you mean "
       "\"simulate\"? (known: " +
           kCommands + ")"},
      {"--verbose", "unknown command \"--verbose\" (known: " + kCommands + ")"},
      {"collective", "KIND is required" + help},
      {"collective all-reduce --slice v5p:4x4x4", "--bytes is required" + help},
      {"collective all-reduce --bytes 1MiB", "--slice is required" + help},
      {"lower all-reduce --slice v5p:4x4x4 --bytes 1MiB",
       "--output is required; see `podsim lower --help`"},
      {"simulate", "FILE is required; see `podsim simulate --help`"},
      {"verify", "FILE is required; see `podsim verify --help`"},
      {"topology", "SLICE is required; see `podsim topology --help`"},
      {OnCube("--lowring ring"),
       "unknown flag \"--lowring\"; did you mean \"--lowering\"?" + help},
      {OnCube("--zzz"), "unknown flag \"--zzz\"" + help},
      {"compare all-reduce --slice v5p:4x4x4 --bytes 1MiB --lowering ring",
       "unknown flag \"--lowering\"; see `podsim compare --help`"},
      {OnCube("64MiB"), "unexpected argument \"64MiB\"" + help},
      {"generations v5p",
       "unexpected argument \"v5p\"; see `podsim generations --help`"},
      {OnCube("--engine gpu"),
       "--engine: expected pod or reference or bound, got \"gpu\"" + help},
      {OnCube("--network packets"),
       "--network: expected fluid, fifo or packet[:size=4KiB,"
       "cut_through=true], got \"packets\""},
      {OnCube("--network fifo:size=4KiB"),
       "--network: expected fluid, fifo or packet[:size=4KiB,"
       "cut_through=true], got \"fifo:size=4KiB\""},
      {OnCube("--network packet:"),
       "--network: expected size=BYTES or cut_through=true|false behind "
       "packet:, got \"\"; write for example packet:size=4KiB"},
      {OnCube("--network packet:bytes=1KiB"),
       "--network: expected size=BYTES or cut_through=true|false behind "
       "packet:, got \"bytes=1KiB\"; write for example packet:size=4KiB"},
      {OnCube("--network packet:size=0B"),
       "--network: size: expected at least 1B, got \"0B\"; a packet has bytes"},
      {OnCube("--network packet:size=4"),
       "--network: size: \"4\" has no unit; write for example \"4MiB\""},
      {OnCube("--network packet:size=4KiB,size=8KiB"),
       "--network: size stands twice"},
      {OnCube("--network packet:cut_through=no"),
       "--network: cut_through: expected true or false, got \"no\""},
      {OnCube("--network fifo --engine reference"),
       "--engine reference: stock SimGrid knows only --network fluid, got "
       "fifo; use --engine pod"},
      {OnCube("--network fifo --fold on --lowering bucket"),
       "--fold on: cannot fold bucket: --network fifo serves what arrives at "
       "once in the order of the ops, which differs from chip to chip; use "
       "--fold auto"},
      {OnCube("--network fifo --lowering one-shot"),
       "--network fifo: op 3 sends over 2 hops; it serves transfers of one "
       "hop only; use --network packet or fluid, or another lowering"},
      {OnCube("--fold yes"),
       "--fold: expected auto or on or off, got \"yes\"" + help},
      {OnCube("--verify never"),
       "--verify: expected auto or full or off, got \"never\"" + help},
      {"topology v5p:4x4x4 --json --dot",
       "--json excludes --dot; see `podsim topology --help`"},
      {"topology v5p:4x4x4 --json=out.json",
       "--json: takes no value, got \"out.json\"; the JSON goes to stdout; see "
       "`podsim topology --help`"},
      {"collective allreduce --slice v5p:4x4x4 --bytes 1MiB",
       "KIND: unknown collective \"allreduce\"; did you mean \"all-reduce\"? "
       "(known: all-reduce, all-gather, reduce-scatter, all-to-all, "
       "ragged-all-to-all, broadcast, reduce, gather, scatter, "
       "collective-permute)"},
  });
}

TEST_CASE("outputs that cannot be written are refused before the work",
          "[cli]") {
  RequireRefused({
      {OnCube("--json folder"),
       "--json folder: is a directory, expected a file to write"},
      {OnCube("--csv folder"),
       "--csv folder: is a directory, expected a file to write"},
      {OnCube("--timing folder"),
       "--timing folder: is a directory, expected a file to write"},
      {"lower all-reduce --slice v5p:4x4x4 --bytes 1MiB -o folder",
       "-o folder: is a directory, expected a file to write"},
      {OnCube("--json missing/out.json"),
       "--json missing/out.json: cannot be written: No such file or directory"},
      {OnCube("--json out.json/x"),
       "--json out.json/x: cannot be written: Not a directory"},
      {OnCube("--json \"\""),
       "--json: must not be empty; see `podsim collective --help`"},
      {OnCube("--json - --csv -"),
       "--csv -: is where --json goes too; expected another file"},
      {OnCube("--json new.json --timing new.json"),
       "--timing new.json: is where --json goes too; expected another file"},
      {OnCube("--json /dev/full"),
       "--json /dev/full: cannot be written: No space left on device"},
      // The first output is fine, the second is not: neither appears.
      {OnCube("--json new.json --csv folder"),
       "--csv folder: is a directory, expected a file to write"},
  });
}

TEST_CASE("sizes that cannot be read are refused", "[cli]") {
  const std::string factor = "expected an integer from 2 to 1048576, got ";
  const std::string example =
      " is not a number with a unit; write for example \"64MiB\"";
  RequireRefused({
      {OfBytes(""), "--bytes: \"\"" + example},
      {OfBytes("64"),
       "--bytes: \"64\" has no unit; write for example "
       "\"64MiB\""},
      {OfBytes("64Mi"),
       "--bytes: \"64Mi\" has the unknown unit \"Mi\"; did you "
       "mean \"64MiB\"?" +
           kUnits},
      {OfBytes("64M"),
       "--bytes: \"64M\" is ambiguous; write \"64MB\" or "
       "\"64MiB\""},
      {OfBytes("NaN"), "--bytes: \"NaN\"" + example},
      {OfBytes("nanB"), "--bytes: \"nanB\"" + example},
      {OfBytes("infGB"), "--bytes: \"infGB\"" + example},
      {OfBytes("0x10B"),
       "--bytes: \"0x10B\" has the unknown unit \"x10B\"" + kUnits},
      {OfBytes("-1MiB"), "--bytes: \"-1MiB\" must not be negative"},
      {OfBytes("1.5B"), "--bytes: \"1.5B\" is not a whole number of bytes"},
      {OfBytes("1e400B"),
       "--bytes: \"1e400B\" is too large; at most 9223372036854775807B"},
      {OfBytes("9223372036854775808B"),
       "--bytes: \"9223372036854775808B\" is too large; at most "
       "9223372036854775807B"},
      // (2^63 - 1) / 4 / 64 chips
      {OfBytes("9223372036854775807B"),
       "--bytes: expected at most 36028797018963967B on 64 chips, got "
       "9223372036854775807B: the traffic could not be counted"},
      {OfBytes("1KiB,,1MiB"), "--bytes: an entry of \"1KiB,,1MiB\" is empty"},
      {OfBytes("4MiB..1KiB"),
       "--bytes: the range \"4MiB..1KiB\" runs "
       "backwards; write the smaller size first"},
      {OfBytes("0B..1KiB"),
       "--bytes: a range cannot start at 0B, got \"0B..1KiB\""},
      {OfBytes("1..4KiB"),
       "--bytes: \"1\" has no unit; write for example \"1MiB\""},
      {OfBytes("1KiB..4"),
       "--bytes: \"4\" has no unit; write for example \"4MiB\""},
      {OfBytes("1KiB.."),
       "--bytes: the range \"1KiB..\" has only one end; "
       "write for example \"1KiB..4GiB\" or \"1KiB..64MiB "
       "x4\""},
      {OfBytes("1KiB..4MiB x1"),
       "--bytes: the factor of \"1KiB..4MiB x1\": " + factor + "\"1\""},
      {OfBytes("1KiB..4MiB x0"),
       "--bytes: the factor of \"1KiB..4MiB x0\": " + factor + "\"0\""},
      {OfBytes("1KiB..4MiB x"),
       "--bytes: the factor of \"1KiB..4MiB x\": " + factor + "\"\""},
      {OfBytes("1KiB..4MiB x-2"),
       "--bytes: the factor of \"1KiB..4MiB x-2\": " + factor + "\"-2\""},
      {"lower all-reduce --slice v5p:4x4x4 --bytes 1MiB,2MiB -o out.json",
       "--bytes: expected one payload, got 1MiB,2MiB"},
  });
}

TEST_CASE("slices that do not exist are refused, with those that do", "[cli]") {
  const std::string form =
      "--slice: expected GENERATION:SHAPE such as v5p:4x4x8, or a topology "
      "file (.json), got ";
  const std::string generations =
      " (known: v2, v3, v4, v5e, v5p, v6e, v7x, 8t, ideal)";
  RequireRefused({
      {OnSlice("\"\""), form + "\"\""},
      {OnSlice("v5p"), form + "\"v5p\""},
      {OnSlice("folder"), form + "\"folder\""},
      {OnSlice("v6p:4x4x4"),
       "--slice: unknown generation \"v6p\"; did you "
       "mean \"v5p\"?" +
           generations},
      {OnSlice("v5p:5x5x5"),
       "--slice: v5p has no slice of shape 5x5x5; legal shapes near it: 4x4x4, "
       "2x4x4, 4x2x4, 4x4x2, 4x4x8, 4x8x4"},
      {OnSlice("v5e:3x3"),
       "--slice: v5e has no slice of shape 3x3; legal "
       "shapes near it: 2x2, 2x4, 4x2, 4x4, 1x1, 4x8"},
      {OnSlice("v5p:4xx4"),
       "--slice: expected a shape such as 4x4x8, got \"4xx4\" in \"v5p:4xx4\""},
      {OnSlice("v5p:0x4x4"),
       "--slice: expected an axis of at least 1 chip, got 0 in 0x4x4"},
      {OnSlice("v5p:4x4x4x4"),
       "--slice: v5p slices have at most 3 axes, got 4x4x4x4"},
      {OnSlice("ideal:4097x4097"),
       "--slice: ideal has no slice of shape "
       "4097x4097 (more than 16777216 chips)"},
      {OnSlice("v5p:4x4x8:twistd"),
       "--slice: unknown modifier \"twistd\" in a slice; known: twisted, mesh, "
       "torus, wrap=AXES (for example wrap=xz)"},
      {OnSlice("v5p:4x4x4:twisted"),
       "--slice: v5p:4x4x4 cannot be twisted; shapes that can (n,n,2n or "
       "n,2n,2n): 4x4x8, 4x8x4, 8x4x4, 4x8x8, 8x4x8, 8x8x4"},
      {OnSlice("v5e:4x8:twisted"),
       "--slice: v5e:4x8 cannot be twisted; this "
       "generation has no twisted slices"},
      {OnSlice("v4:4x4x8:twisted:mesh"),
       "--slice: a twisted slice wraps on every axis; remove the wrap override "
       "or the twist"},
      {OnSlice("v5p:4x4x4:wrap=xw"),
       "--slice: \"wrap=xw\": expected axes among xyz"},
      {OnSlice("v5p:4x4x4:wrap=xx"),
       "--slice: an axis stands twice in \"wrap=xx\""},
      {OnSlice("v5p:4x4x4:mesh:torus"),
       "--slice: \"torus\" is a second say on the wraps; expected at most one "
       "of mesh, torus, wrap=AXES"},
      {OnSlice("0*v5e:4x4"),
       "--slice: the slices before *: expected an "
       "integer from 1 to 16777216, got \"0\""},
      {OnSlice("2*ideal:4x4"),
       "--slice: this all-reduce spans 2 slices, and the generation does not "
       "say how fast DCN is; set dcn.bandwidth (per chip, for example "
       "25Gbit/s), or give axes, for groups inside every slice"},
      {OnSlice("missing.json"),
       "missing.json: cannot be read: No such file or directory"},
      {OnCube("--axes \"\""),
       "--axes: must not be empty; see `podsim collective --help`"},
      {OnCube("--axes x,w"),
       "--axes: no axis \"w\" in this slice; it has x,y,z"},
      {OnCube("--axes x,x"), "--axes: an axis stands twice in \"x,x\""},
  });
}

TEST_CASE("faults with a date that cannot be are refused", "[cli]") {
  RequireRefused({
      {OnCube("--fault link:0,0,0:x+@200"),
       "--fault link:0,0,0:x+@200: \"200\" has no unit; write for example "
       "\"200us\""},
      {OnCube("--fault link:0,0,0:x+@"),
       "--fault link:0,0,0:x+@: \"\" is not a number with a unit; write for "
       "example \"1us\""},
      {OnCube("--fault link:0,0,0:x+@-1us"),
       "--fault link:0,0,0:x+@-1us: \"-1us\" must not be negative"},
      {OnCube("--fault link:0,0,0:x+@1us@2us"),
       "--fault link:0,0,0:x+@1us@2us: \"1us@2us\" has the unknown unit "
       "\"us@2us\" (known: s, ms, us, ns, ps)"},
      {OnCube("--fault link:0,0,0:x+=0%@1us"),
       "--fault link:0,0,0:x+=0%@1us: expected a rate above 0% and up to 100%, "
       "got \"0%\"; leave it out for a dead link"},
      {OnCube("--fault chip:4,0,0@1us"),
       "--fault chip:4,0,0@1us: no chip \"4,0,0\" in this slice; expected "
       "coordinates below 4,4,4"},
      {OnCube("--fault link:0,0,0:x+ --fault link:0,0,0:x+=50%@1us"),
       "--fault link:0,0,0:x+=50%@1us: link 0,0,0:x+ is dead from the start, "
       "\"link:0,0,0:x+=50%@1us\" comes too late; remove one of the two"},
      {OnCube("--fault link:0,0,0:x+=50%@2us --fault chip:1,0,0@1us"),
       "--fault link:0,0,0:x+=50%@2us: link 0,0,0:x+ is dead by then, "
       "\"link:0,0,0:x+=50%@2us\" comes too late; remove one of the two"},
      {OnCube("--fault chip:1,0,0 --fault chip:1,0,0@1us"),
       "--fault chip:1,0,0@1us: chip (1,0,0) is dead from the start, "
       "\"chip:1,0,0@1us\" comes too late; remove one of the two"},
      {OnCube("--lowering bucket --fold on --fault link:0,0,0:x+=50%@2us"),
       "--fold on: cannot fold bucket: a fault has a date "
       "(link:0,0,0:x+=50%@2us), after which links differ or are dead; use "
       "--fold auto"},
      {OnCube("--engine reference --fault link:0,0,0:x+=50%@1us --fault "
              "link:0,0,0:x+=60%@2us"),
       "--fault link:0,0,0:x+=60%@2us: stock SimGrid cannot follow a link that "
       "becomes faster again while something flows; use --engine pod"},
  });
}

TEST_CASE("a run that a dated fault takes transfers from has no time",
          "[cli]") {
  // A ring of 1000 bytes per step at 100 GB/s: 10 ns each.
  const std::string remedy =
      "\nNothing is sent again or another way. Give the fault without its "
      "date, so that the schedule goes around it, or take another lowering";
  const std::string ring =
      "collective all-gather --slice ideal:4 --bytes 4000B --lowering ring ";
  RequireRefused({
      {ring + "--fault link:0:x+:oneway@25ns",
       "--fault link:0:x+:oneway@25ns: the run loses 1 transfer to "
       "\"link:0:x+:oneway@25ns\" at 25ns, and 0 ops that waited for them "
       "never ran; lost:\n  op 8: transfer of 1kB from chip (0) to chip (1) "
       "over 0:x+" +
           remedy},
      {"collective all-gather --slice bad.json --bytes 4000B --lowering ring",
       "bad.json: /faults/0: the run loses 1 transfer to "
       "\"link:0:x+:oneway@15ns\" at 15ns, and 2 ops that waited for them "
       "never ran; lost:\n  op 4: transfer of 1kB from chip (0) to chip (1) "
       "over 0:x+" +
           remedy,
       R"({"format": "podsim-topology/1", "generation": "ideal", "shape": [4],
           "wrap": [true], "faults": ["link:0:x+:oneway@15ns"]})"},
  });
}

TEST_CASE("parameters and faults that cannot be applied are refused", "[cli]") {
  RequireRefused({
      {OnCube("--set ici.bandwidth"),
       "--set ici.bandwidth: expected KEY=VALUE, for example "
       "ici.bandwidth=200GB/s"},
      {OnCube("--set ici.bandwith=90GB/s"),
       "--set ici.bandwith=90GB/s: unknown parameter \"ici.bandwith\"; did you "
       "mean \"ici.bandwidth\"?" +
           kParameters},
      {OnCube("--set ici.bandwidth=90Gbps"),
       "--set ici.bandwidth=90Gbps: \"90Gbps\" is ambiguous; write \"90GB/s\" "
       "or \"90Gbit/s\""},
      {OnCube("--set ici.bandwidth=0GB/s"),
       "--set ici.bandwidth=0GB/s: \"0GB/s\" must be greater than zero"},
      {OnCube("--set ici.hop_latency=1"),
       "--set ici.hop_latency=1: \"1\" has no unit; write for example \"1us\""},
      {OnCube("--set ici.hop_latency=1min"),
       "--set ici.hop_latency=1min: \"1min\" has the unknown unit \"min\" "
       "(known: s, ms, us, ns, ps)"},
      {OnCube("--set ici.issue=1"),
       "--set ici.issue=1: \"1\" has no unit; write for example \"1us\""},
      {OnCube("--set ici.window=-1"),
       "--set ici.window=-1: expected an integer from 0 to 1048576, got "
       "\"-1\""},
      {OnCube("--set ici.hop_latency=1e308s"),
       "the bound of this all-reduce is more than the 1.8e308 s of a double; "
       "check the bandwidths, latencies and durations"},
      {OnCube("--fault cable:0,0,0:x+"),
       "--fault cable:0,0,0:x+: expected link:CHIP:AXIS+ such as "
       "link:1,2,3:x+, "
       "or chip:1,2,3, got \"cable:0,0,0:x+\""},
      {OnCube("--fault link:0,0,0"),
       "--fault link:0,0,0: no link \"0,0,0\" in this slice; " + kCubeFaults},
      {OnCube("--fault link:9,0,0:x+"),
       "--fault link:9,0,0:x+: no link \"9,0,0:x+\" in this slice; " +
           kCubeFaults},
      {OnCube("--fault chip:4,0,0"),
       "--fault chip:4,0,0: no chip \"4,0,0\" in "
       "this slice; expected coordinates below "
       "4,4,4"},
      {OnCube("--fault link:0,0,0:x+=0%"),
       "--fault link:0,0,0:x+=0%: expected a rate above 0% and up to 100%, got "
       "\"0%\"; leave it out for a dead link"},
      {OnCube("--fault link:0,0,0:x+=50%:oneway"),
       "--fault link:0,0,0:x+=50%:oneway: expected :oneway before the rate, "
       "such as link:0,0,0:x+:oneway=50%, got "
       "\"link:0,0,0:x+=50%:oneway\""},
      {OnCube("--fault chip:0,0,0=50%"),
       "--fault chip:0,0,0=50%: a chip fault takes no :oneway and no rate, got "
       "\"chip:0,0,0=50%\""},
      {OnSlice("ideal:4:mesh --fault chip:1"),
       "ideal:4:mesh: the slice is disconnected: chip (0) cannot reach, or be "
       "reached from, 2 chips: (2) (3); repair a link or mark those chips dead "
       "(chip:...)"},
      {OnSlice("ideal:2 --fault chip:0 --fault chip:1"),
       "ideal:2: every chip is dead"},
      {OnCube("--fault link:1,2,3:y- --lowering bucket"),
       "--lowering: bucket does not apply to all-reduce here: it needs link "
       "1,1,3:y+, which is dead; " +
           kInsteadOfDead},
  });
}

TEST_CASE("lowerings that do not exist or apply are refused, with what does",
          "[cli]") {
  const std::string fractions =
      "--lowering: expected fractions between 0 and 1 joined by /, such as "
      "0.4/0.6, or balanced, got ";
  RequireRefused({
      {OnCube("--lowering rings"),
       "--lowering: unknown lowering \"rings\"; did "
       "you mean \"ring\"?" +
           kLowerings},
      {OnCube("--lowering ring"),
       "--lowering: ring does not apply to all-reduce here: the group spans 3 "
       "axes; use bucket:axis_primitive=ring or "
       "bucket-rotated:axis_primitive=ring"},
      {OnCube("--lowering line --axes x"),
       "--lowering: line does not apply to all-reduce here: axis x wraps; use "
       "ring-short"},
      {OnCube("--lowering ring:batches=2"),
       "--lowering: ring has no parameter \"batches\"; it takes none"},
      {OnCube("--lowering bucket-rotated:batch=2"),
       "--lowering: bucket-rotated has no parameter \"batch\"; known: "
       "axis_primitive, batches, fractions"},
      {OnCube("--lowering bucket-rotated:batches=2,batches=3"),
       "--lowering: batches stands twice in "
       "\"bucket-rotated:batches=2,batches=3\""},
      {OnCube("--lowering bucket-rotated:batches=0"),
       "--lowering: batches: expected an integer from 1 to 1024, got \"0\""},
      {OnCube("--lowering bucket-rotated:batches"),
       "--lowering: expected batches=VALUE in \"bucket-rotated:batches\""},
      {OnCube("--lowering bucket:axis_primitive=long"),
       "--lowering: expected axis_primitive=ring, split or short, got "
       "\"long\""},
      {OnCube("--lowering bucket-rotated:fractions=0.5/0.6"),
       "--lowering: fractions must add up to 1, \"0.5/0.6\" adds up to 1.1"},
      {OnCube("--lowering bucket-rotated:fractions=-0.5/0.5/1"),
       fractions + "\"-0.5/0.5/1\""},
      {OnCube("--lowering bucket-rotated:fractions=nan/0/1"),
       fractions + "\"nan/0/1\""},
      {OnCube("--lowering bucket-rotated:fractions=0.5/0.5"),
       "--lowering: bucket-rotated does not apply to all-reduce here: "
       "fractions "
       "has 2 entries, but the group spans 3 axes; give one per axis, or "
       "fractions=balanced"},
      {OnCube("--lowering ring --lowering line"),
       "--lowering: expected one lowering; use `podsim compare` or --lowering "
       "all for several"},
      {OnSlice("v5p:2x2x2 --fold on --lowering bucket"),
       "--fold on: cannot fold bucket: no axis has more than one chip and is "
       "invariant under translation (lines and unwrapped axes are not; nor are "
       "hosts whose chips share a NIC but do not all do the same); use "
       "--fold auto"},
      {OnSlice("v4:4x4x8:twisted --axes x --lowering ring"),
       "--lowering: ring does not apply to all-reduce here: on a twisted slice "
       "axis x is no ring (it closes after two rounds); use bfb on all chips, "
       "or "
       "groups along the long axes"},
  });
}

TEST_CASE("runs that need too much memory are refused, with the remedies",
          "[cli]") {
  const std::string fold =
      "; let it fold (--fold auto or on), take fewer chips or batches, use "
      "--engine bound, or raise --max-memory";
  // 48 MiB for the process and 120 B for each transfer; an all-reduce has
  // 2 * 6 * 4 * 3/2 ... per chip, 72 on one chip of a cube, 4,608 on all.
  RequireRefused({
      {OnCube("--lowering bucket-rotated --max-memory 1KiB"),
       "--max-memory: 72 transfers need about "
       "48MiB, the limit is 1KiB" +
           fold},
      {OnCube("--lowering bucket-rotated --max-memory 48MiB --fold off"),
       "--max-memory: 4608 transfers need about 49MiB, the limit is 48MiB" +
           fold},
      {OnCube("--lowering bucket-rotated --max-memory 48MiB --verify full"),
       "--verify: 4608 transfers need about 49MiB, the limit is 48MiB; take "
       "fewer chips or batches, use --verify auto or off, or raise "
       "--max-memory"},
      {"lower all-reduce --slice v5p:16x16x24 --bytes 1MiB -o out.json "
       "--max-memory 100MiB",
       "--max-memory: 2064384 transfers need about 284MiB, the limit is "
       "100MiB; "
       "take fewer chips or batches, or raise --max-memory"},
      {OnCube("--max-memory lots"),
       "--max-memory: \"lots\" is not a number with a unit; write for example "
       "\"64MiB\""},
      {"simulate bad.json",
       "--max-memory: 2147483648 transfers need about 245808MiB, more than "
       "this "
       "version can number; let it fold (--fold auto or on), take fewer chips "
       "or repeats, use --step-mode abstract or --engine bound",
       R"({"format": "podsim-workload/1", "slice": "v5p:4x4x4", "ops": [
           {"id": "loop", "repeat": 1073741824, "ops": [
             {"id": "c", "compute": {"duration": "1us"}}]}]})"},
  });
}

TEST_CASE("files that are no JSON of ours are refused", "[cli]") {
  const std::string depth(64, '[');
  std::string pointer;
  for (int level = 0; level < 64; ++level) pointer += "/0";
  RequireRefused({
      {"simulate missing.json",
       "missing.json: cannot be read: No such file or directory"},
      {"verify folder", "folder: is a directory, expected a file"},
      {"simulate \"\"",
       "FILE: must not be empty; see `podsim simulate --help`"},
      {"simulate bad.json", "bad.json: empty file", "\n"},
      {"simulate bad.json",
       "bad.json: contains a zero byte, expected UTF-8 text",
       std::string("\x7f"
                   "ELF\x02\x01\x01\0\0\0",
                   10)},
      {"simulate bad.json",
       "bad.json:1:13: syntax error while parsing value - invalid string: "
       "ill-formed UTF-8 byte",
       "{\"format\": \"\xff\"}"},
      {"simulate bad.json",
       "bad.json:1:3: syntax error while parsing object key - invalid literal; "
       "expected string literal",
       "{format: 1}"},
      {"simulate bad.json",
       "bad.json:2:1: syntax error while parsing object - unexpected end of "
       "input; expected '}'",
       "{\"format\": \"podsim-workload/1\"\n"},
      {"simulate bad.json",
       "bad.json:1:6: syntax error while parsing value - invalid literal; "
       "expected end of input",
       "{} trailing"},
      {"simulate bad.json",
       "bad.json: " + pointer +
           ": nested deeper than 64 "
           "levels",
       std::string(100000, '[')},
      {"topology bad.json",
       "bad.json: " + pointer +
           ": nested deeper than 64 "
           "levels",
       std::string(100000, '[')},
      {"simulate bad.json", "bad.json: expected an object, got []", "[]"},
      {"simulate bad.json", "bad.json: missing key \"format\"", "{}"},
      {"simulate bad.json", "bad.json: /format: expected a string, got 1",
       R"({"format": 1})"},
      {"simulate bad.json", "bad.json: /format: the key stands twice",
       R"({"format": "podsim-workload/1", "format": "podsim-schedule/1"})"},
      {"simulate bad.json",
       "bad.json: /format: expected \"podsim-workload/1\" or "
       "\"podsim-schedule/1\", got \"podsim-sweep/1\"",
       R"({"format": "podsim-sweep/1"})"},
      {"verify bad.json",
       "bad.json: /format: expected \"podsim-schedule/1\", got "
       "\"podsim-workload/1\"",
       R"({"format": "podsim-workload/1"})"},
      {"topology bad.json",
       "bad.json: /format: expected \"podsim-topology/1\", got "
       "\"podsim-generation/1\"",
       R"({"format": "podsim-generation/1", "name": "v9"})"},
  });
}

// A workload on a cube, of these ops, with more keys.
std::string Workload(const std::string& ops, const std::string& more = "") {
  return R"({"format": "podsim-workload/1", "slice": "v5p:4x4x4", )" + more +
         R"("ops": [)" + ops + "]}";
}

TEST_CASE("groups, roots, shifts and pairs that make no sense are refused",
          "[cli]") {
  RequireRefused({
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --groups bad.json",
       "bad.json: /1/0: chip 1 stands twice in the groups",
       R"([[0, 1], [1, 2]])"},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --groups bad.json",
       "bad.json: expected at least one group", R"([])"},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --groups bad.json",
       "bad.json: /1: expected at least one chip", R"([[0], []])"},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --groups bad.json",
       "bad.json: /0/1: expected an integer from 0 to 15, got 16",
       R"([[0, 16]])"},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --groups bad.json "
       "--fault chip:1,0",
       "bad.json: /0/1: chip 1 is dead; leave it out", R"([[0, 1]])"},
      {"collective all-gather --slice v5e:4x4 --bytes 1MiB --groups bad.json",
       "bad.json: /1: expected 3 chips as in the first group, got 2; groups of "
       "all-gather are equally large",
       R"([[0, 1, 2], [3, 4]])"},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --axes x --groups "
       "bad.json",
       "--groups: --axes says the groups already; leave one", R"([[0, 1]])"},
      {"collective all-reduce --slice 2*v4:4x4 --bytes 1MiB --groups bad.json",
       "--slice: this all-reduce spans 2 slices, and the generation does not "
       "say how fast DCN is; set dcn.bandwidth (per chip, for example "
       "25Gbit/s), or give axes, for groups inside every slice",
       R"([[0, 16]])"},
      {"collective all-reduce --slice 2*v5e:4x4 --bytes 1MiB --lowering "
       "bucket-rotated",
       "--lowering: bucket-rotated does not apply to all-reduce here: some "
       "group spans slices, and its messages go over ICI only; use "
       "hierarchical, direct or binomial"},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --lowering "
       "hierarchical",
       "--lowering: hierarchical does not apply to all-reduce here: no group "
       "spans slices; use bucket-rotated"},
      {"collective broadcast --slice v5e:4x4 --bytes 1MiB --root 16",
       "--root: expected an integer from 0 to 15, got \"16\""},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --root 1",
       "--root: all-reduce has no root; broadcast, reduce, gather and scatter "
       "have"},
      {"collective broadcast --slice v5e:4x4 --bytes 1MiB --groups bad.json "
       "--root 3",
       "--root: chip 3 is in no group of the collective",
       R"([[0, 1], [2, 4]])"},
      {"collective broadcast --slice v5e:4x4 --bytes 1MiB --groups bad.json "
       "--root 2",
       "--root: chip 2 has rank 2 in its group, and group 1 has only 2 chips",
       R"([[0, 1, 2], [4, 5]])"},
      {"collective collective-permute --slice v5e:4x4 --bytes 1MiB ",
       "--shift: a collective-permute needs to know who sends to whom: a shift "
       "along an axis, or pairs"},
      {"collective collective-permute --slice v5e:4x4 --bytes 1MiB --axes x "
       "--shift x:1",
       "--axes: a collective-permute has pairs or a shift, not axes"},
      {"collective collective-permute --slice v5e:4x4 --bytes 1MiB --shift x",
       "--shift: expected AXIS:PLACES such as x:1, got \"x\""},
      {"collective collective-permute --slice v5e:4x4 --bytes 1MiB --shift q:1",
       "--shift: no axis \"q\" in this slice; it has x,y"},
      {"collective collective-permute --slice v5e:4x4 --bytes 1MiB --shift x:4",
       "--shift: a shift by 4 on axis x of 4 chips moves nothing; expected 1 "
       "to 3 or the negative of it"},
      {"collective collective-permute --slice v5e:4x4 --bytes 1MiB --shift x:1 "
       "--pairs bad.json",
       "--pairs: --shift says the pairs already; leave one", R"([[0, 1]])"},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --shift x:1",
       "--shift: all-reduce has no pairs and no shift; collective-permute has"},
      {"collective collective-permute --slice v5e:4x4 --bytes 1MiB --pairs "
       "bad.json",
       "bad.json: /1/0: chip 0 sends twice", R"([[0, 1], [0, 2]])"},
      {"collective collective-permute --slice v5e:4x4 --bytes 1MiB --pairs "
       "bad.json",
       "bad.json: /1/1: chip 1 receives twice", R"([[0, 1], [2, 1]])"},
      {"collective collective-permute --slice v5e:4x4 --bytes 1MiB --pairs "
       "bad.json",
       "bad.json: /0: expected a pair of chips [from, to], got 1 entries",
       R"([[0]])"},
      {"collective collective-permute --slice v5e:4x4 --bytes 1MiB --pairs "
       "bad.json",
       "bad.json: expected at least one pair", R"([])"},
      {"collective collective-permute --slice v5e:4x4 --bytes 1MiB --groups "
       "bad.json",
       "bad.json: a collective-permute has pairs or a shift, not groups",
       R"([[0, 1]])"},
      {"collective ragged-all-to-all --slice ideal:2 --matrix bad.json",
       "bad.json: /1: expected 2 entries, one per row of the matrix, got 1",
       R"([["0B", "1B"], ["1B"]])"},
      {"collective ragged-all-to-all --slice ideal:2 --matrix bad.json",
       "bad.json: expected 2 rows, one per chip of a group, got 1",
       R"([["0B"]])"},
      {"collective ragged-all-to-all --slice ideal:2 --matrix bad.json",
       "bad.json: /0/1: \"-1B\" must not be negative",
       R"([["0B", "-1B"], ["1B", "0B"]])"},
      {"collective ragged-all-to-all --slice ideal:2 --matrix bad.json",
       "bad.json: the entries add up to more than 9223372036854775807B; take "
       "smaller ones",
       R"([["0B", "9223372036854775807B"], ["1B", "0B"]])"},
      {"collective ragged-all-to-all --slice ideal:2 --bytes 1KiB --matrix "
       "bad.json",
       "--bytes: --matrix says the bytes already; leave one", R"([["0B"]])"},
      {"collective ragged-all-to-all --slice ideal:2 --distribution equal "
       "--matrix bad.json",
       "--distribution: --matrix says it already; leave one", R"([["0B"]])"},
      {"collective ragged-all-to-all --slice ideal:2 --bytes 1KiB",
       "--matrix: a ragged-all-to-all needs to know what each rank sends to "
       "each: --matrix FILE, or --bytes with --distribution"},
      {"collective ragged-all-to-all --slice ideal:2",
       "--matrix: a ragged-all-to-all needs to know what each rank sends to "
       "each: --matrix FILE, or --bytes with --distribution"},
      {"collective all-to-all --slice ideal:2 --matrix bad.json --bytes 1KiB",
       "--matrix: all-to-all has no byte matrix; ragged-all-to-all has",
       R"([["0B"]])"},
      {"collective all-to-all --slice ideal:2 --bytes 1KiB --distribution zipf",
       "--distribution: all-to-all has no byte matrix; ragged-all-to-all has"},
      {"collective ragged-all-to-all --slice ideal:2 --bytes 1KiB "
       "--distribution zip",
       "--distribution: unknown distribution \"zip\"; did you mean \"zipf\"? "
       "(known: equal, uniform, zipf)"},
      {"collective ragged-all-to-all --slice ideal:2 --bytes 1KiB "
       "--distribution uniform:skew=1",
       "--distribution: uniform has no parameter \"skew\"; known: seed"},
      {"collective ragged-all-to-all --slice ideal:2 --bytes 1KiB "
       "--distribution equal:seed=1",
       "--distribution: equal has no parameter \"seed\"; it takes none"},
      {"collective ragged-all-to-all --slice ideal:2 --bytes 1KiB "
       "--distribution zipf:skew=-1",
       "--distribution: skew: expected a skew from 0 to 16, got -1"},
      {"collective ragged-all-to-all --slice ideal:2 --bytes 1KiB "
       "--distribution zipf:skew=x",
       "--distribution: skew: expected a number, got \"x\""},
      {"collective ragged-all-to-all --slice ideal:2 --bytes 1KiB "
       "--distribution zipf:skew",
       "--distribution: expected skew=VALUE in \"zipf:skew\""},
      {"collective ragged-all-to-all --slice ideal:2 --bytes 1KiB "
       "--distribution zipf:seed=1,seed=2",
       "--distribution: seed stands twice in \"zipf:seed=1,seed=2\""},
      {"collective ragged-all-to-all --slice v5e:4x4 --fault chip:1,1 --bytes "
       "1KiB --axes x --distribution zipf",
       "--distribution: groups of ragged-all-to-all are equally large, and "
       "dead chips leave one of 4 and one of 3; give equal groups as lists"},
  });
}

TEST_CASE("traces and engines that cannot be are refused", "[cli]") {
  RequireRefused({
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB,2MiB --trace t.json",
       "--trace: expected one lowering and one payload to trace"},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --lowering all "
       "--trace t.json",
       "--trace: expected one lowering and one payload to trace"},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --engine bound "
       "--trace t.json",
       "--trace: --engine bound runs nothing that could be traced"},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --trace -",
       "--trace: expected a file, got \"-\""},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --trace-chips 0",
       "--trace-chips: goes with --trace FILE"},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --trace t.json "
       "--trace-chips 0,0",
       "--trace-chips: chip 0 stands twice"},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --trace t.json "
       "--trace-chips 16",
       "--trace-chips: expected an integer from 0 to 15, got \"16\""},
      {"collective all-reduce --slice v5e:4x4 --bytes 1MiB --top 0",
       "--top: expected an integer from 1 to 16777216, got \"0\""},
      {"collective all-reduce --slice v5p:16x16x16 --bytes 1MiB --fold off "
       "--lowering bucket-rotated --verify off --engine reference",
       "--engine reference: 1179648 transfers; stock SimGrid takes long above "
       "60000: its time grows with the square. Let it fold (--fold auto), take "
       "fewer chips, use --engine pod, or insist with --force"},
      {"simulate bad.json --engine reference",
       "--engine reference: SimGrid's model has no memory that async "
       "collectives and copies could take from computes; give computes "
       "durations, make the collectives sync, leave copies out, or use "
       "--engine "
       "pod",
       R"({"format": "podsim-workload/1", "slice": "v5e:4x4", "ops": [
           {"id": "s", "collective": "all-reduce", "bytes": "1MiB",
            "async": true},
           {"id": "c", "compute": {"hbm": "1GB"}}]})"},
      {"collective all-to-all --slice v5p:16x16x16 --bytes 1000B",
       "--lowering: direct: up to 33546240 transfers of several hops are more "
       "than the 4000000 that this version simulates one by one; take groups "
       "along some axes (--axes), fewer chips, a payload that the ranks "
       "divide, or --engine bound"},
      {"collective all-to-all --slice v5p:16x16x16 --bytes 64MiB --fold off",
       "--fold: direct: unfolded, 19726336 transfers of several hops are more "
       "than the 4000000 that this version simulates one by one; let it fold "
       "(--fold auto or on; healthy links, payloads that the ranks divide)"},
  });
}

TEST_CASE("workloads with a mistake are refused at its place", "[cli]") {
  const std::string names =
      "; `after` names earlier ops of the same list or an enclosing one";
  const std::string a = R"({"id": "a", "compute": {"duration": "1us"})";
  const std::string sum = R"({"id": "s", "collective": "all-reduce")";
  const auto refused = [](const std::string& place, const std::string& what,
                          const std::string& file) {
    RequireRefused(
        BadInput{"simulate bad.json", "bad.json: " + place + what, file});
  };
  refused("/ops: ", "expected at least one op", Workload(""));
  refused("/ops/0/id: ", "must not be empty",
          Workload(R"({"id": "", "compute": {"duration": "1us"}})"));
  refused(
      "/ops/0: ",
      "expected one of collective, compute, copy or repeat in an op, got none",
      Workload(R"({"id": "a"})"));
  refused("/ops/0/after/0: ", "\"a\" is the op itself" + names,
          Workload(a + R"(, "after": ["a"]})"));
  refused("/ops/0/after/0: ", "\"b\" comes later in the file" + names,
          Workload(a + R"(, "after": ["b"]}, {"id": "b", "after": ["a"],
                          "compute": {"duration": "1us"}})"));
  refused("/ops/1/after/0: ", "\"a\" stands inside another repeat" + names,
          Workload(R"({"id": "l", "repeat": 2, "ops": [)" + a +
                   R"(}]}, {"id": "b", "after": ["a"],
                       "compute": {"duration": "1us"}})"));
  refused("/ops/0/ops/0/after/0: ", "\"l\" is a repeat around this op" + names,
          Workload(R"({"id": "l", "repeat": 2, "ops": [)" + a +
                   R"(, "after": ["l"]}]})"));
  refused("/ops/0/after/0: ", "no op has the id \"z\"",
          Workload(a + R"(, "after": ["z"]})"));
  refused("/ops/0/ops: ", "expected at least one op",
          Workload(R"({"id": "l", "repeat": 2, "ops": []})"));
  refused(
      "/ops/0/repeat: ", "expected an integer from 1 to 1073741824, got 1.5",
      Workload(R"({"id": "l", "repeat": 1.5, "ops": [)" + a + "}]}"));
  refused("/ops/0/repeat: ", "number out of range: 1e400",
          Workload(R"({"id": "l", "repeat": 1e400, "ops": [)" + a + "}]}"));
  refused("/ops/0/bytes: ",
          "expected a string with a unit such as \"64MiB\", got 64",
          Workload(sum + R"(, "bytes": 64})"));
  refused("/ops/0/bytes: ",
          "expected at most 36028797018963967B on 64 chips, got 1048576TiB: "
          "the traffic could not be counted",
          Workload(sum + R"(, "bytes": "1048576TiB"})"));
  refused("/ops/0/axes: ", "expected at least one axis",
          Workload(sum + R"(, "bytes": "1MiB", "axes": []})"));
  refused("/ops/0/axes/0: ",
          "no axis \"model\" in the mesh or the slice; known: x, y, z",
          Workload(sum + R"(, "bytes": "1MiB", "axes": ["model"]})"));
  refused("/ops/0/axes/1: ", "axis x of the slice is used twice",
          Workload(sum + R"(, "bytes": "1MiB", "axes": ["x", "x"]})"));
  refused(
      "/ops/0/groups/0/1: ", "chip 0 stands twice in the groups",
      Workload(
          R"({"id": "s", "bytes": "1MiB", "collective": "all-reduce", "groups": [[0, 0]]})"));
  refused(
      "/ops/0/groups: ", "axes says the groups already; leave one",
      Workload(
          R"({"id": "s", "bytes": "1MiB", "collective": "all-reduce", "axes": ["x"], "groups": [[0, 1]]})"));
  refused(
      "/ops/0/root: ",
      "all-reduce has no root; broadcast, reduce, gather and scatter have",
      Workload(
          R"({"id": "s", "bytes": "1MiB", "collective": "all-reduce", "root": 0})"));
  refused(
      "/ops/0: ",
      "a collective-permute needs to know who sends to whom: a shift along an "
      "axis, or pairs",
      Workload(
          R"({"id": "s", "bytes": "1MiB", "collective": "collective-permute"})"));
  refused(
      "/ops/0/axes: ", "a collective-permute has pairs or a shift, not axes",
      Workload(
          R"({"id": "s", "bytes": "1MiB", "collective": "collective-permute", "axes": ["x"], "shift": {"axis": "x", "by": 1}})"));
  refused(
      "/ops/0/shift: ", "missing key \"by\"",
      Workload(
          R"({"id": "s", "bytes": "1MiB", "collective": "collective-permute", "shift": {"axis": "x"}})"));
  refused(
      "/ops/0/shift/by: ",
      "a shift by 4 on axis x of 4 chips moves nothing; expected 1 to 3",
      Workload(
          R"({"id": "s", "bytes": "1MiB", "collective": "collective-permute", "shift": {"axis": "x", "by": 4}})"));
  refused(
      "/ops/0/shift/axis: ",
      "no axis \"q\" in the mesh or the slice; known: x, y, z",
      Workload(
          R"({"id": "s", "bytes": "1MiB", "collective": "collective-permute", "shift": {"axis": "q", "by": 1}})"));
  refused(
      "/ops/0/pairs/1/1: ", "chip 1 receives twice",
      Workload(
          R"({"id": "s", "bytes": "1MiB", "collective": "collective-permute", "pairs": [[0, 1], [1, 1]]})"));
  refused("/ops/0: ",
          "a ragged-all-to-all needs to know what each rank sends to each: a "
          "matrix, or a distribution",
          Workload(R"({"id": "s", "collective": "ragged-all-to-all"})"));
  refused(
      "/ops/0/bytes: ",
      "a ragged-all-to-all has a matrix, or a distribution with bytes in it; "
      "remove this",
      Workload(
          R"({"id": "s", "bytes": "1MiB", "collective": "ragged-all-to-all", "matrix": []})"));
  refused(
      "/ops/0/matrix: ", "all-reduce has no byte matrix; ragged-all-to-all has",
      Workload(
          R"({"id": "s", "bytes": "1MiB", "collective": "all-reduce", "matrix": []})"));
  refused(
      "/ops/0/matrix/0/0: ",
      "expected a string with a unit such as \"64MiB\", got 64",
      Workload(
          R"({"id": "s", "collective": "ragged-all-to-all", "matrix": [[64]]})"));
  refused(
      "/ops/0/distribution: ", "missing key \"bytes\"",
      Workload(
          R"({"id": "s", "collective": "ragged-all-to-all", "distribution": {"name": "zipf"}})"));
  refused(
      "/ops/0/distribution/name: ",
      "unknown distribution \"uniforms\"; did you mean \"uniform\"? (known: "
      "equal, uniform, zipf)",
      Workload(
          R"({"id": "s", "collective": "ragged-all-to-all", "distribution": {"name": "uniforms", "bytes": "1MiB"}})"));
  refused(
      "/ops/0/distribution: ", "matrix says it already; leave one",
      Workload(
          R"({"id": "s", "collective": "ragged-all-to-all", "matrix": [], "distribution": {"name": "zipf", "bytes": "1MiB"}})"));
  refused("/ops/0/compute/dtype: ",
          "the peak of dtype fp64 is not known for this generation (known: "
          "bf16, fp8, int8); set chip.flops.fp64, for example --set "
          "chip.flops.fp64=459TFLOP/s, or give a duration",
          Workload(R"({"id": "a", "compute": {"flops": "1TFLOP",
                       "dtype": "fp64"}})"));
  refused("/ops/0/compute: ",
          "duration stands alone; remove flops, hbm and dtype, or remove it",
          Workload(R"({"id": "a", "compute": {"flops": "1TFLOP",
                       "duration": "1us"}})"));
  refused("/mesh/0/name: ", "must not be empty",
          Workload(a + "}", R"("mesh": [{"name": "", "size": 4,
                                         "on": ["x"]}], )"));
  refused("/mesh/0/on/0: ",
          "the size 3 times the stride 1 is no divisor of axis x of 4 chips; "
          "expected one of 1, 2, 4 as size",
          Workload(a + "}", R"("mesh": [{"name": "m", "size": 3,
                                         "on": ["x:3"]}], )"));
  refused("/mesh/1/on/0: ",
          "no part of an axis is used twice: x overlaps x:2; beside x:2 goes "
          "x:2@2",
          Workload(a + "}", R"("mesh": [{"name": "m", "size": 2, "on": ["x:2"]},
                                        {"name": "n", "size": 4,
                                         "on": ["x"]}], )"));
  refused("/parameters/ici.bandwidth: ", "expected a string, got 90",
          Workload(a + "}", R"("parameters": {"ici.bandwidth": 90}, )"));
  refused("", "missing key \"slice\"; add it or pass --slice",
          R"({"format": "podsim-workload/1", "ops": []})");
  RequireRefused({
      {"simulate bad.json --lowering bucket",
       "--lowering bucket: expected KIND=NAME, for example "
       "all-reduce=bucket-rotated",
       Workload(sum + R"(, "bytes": "1MiB"})")},
      {"simulate bad.json --lowering all-reduce=bucket --lowering "
       "all-reduce=bucket-rotated",
       "--lowering all-reduce=bucket-rotated: the lowering of all-reduce was "
       "given before, in --lowering all-reduce=bucket",
       Workload(sum + R"(, "bytes": "1MiB"})")},
      {"simulate bad.json --slice v5p:2x2x2 --fold on --lowering "
       "all-reduce=bucket-rotated",
       "bad.json: /ops/0: --fold on: cannot fold bucket-rotated: no axis has "
       "more than one chip and is invariant under translation (lines and "
       "unwrapped axes are not; nor are hosts whose chips share a NIC but do "
       "not all do the same); use --fold auto",
       Workload(sum + R"(, "bytes": "1MiB"})")},
      {"simulate bad.json",
       "the bound of this step is more than the 1.8e308 s of a double; check "
       "the bandwidths, latencies and durations",
       Workload(R"({"id": "l", "repeat": 2, "ops": [
                    {"id": "a", "compute": {"duration": "1e308s"}}]})")},
  });
}

TEST_CASE("schedules that cannot be read are refused at the place", "[cli]") {
  const auto schedule = [](const std::string& chunks, const std::string& ops) {
    return R"({"format": "podsim-schedule/1", "slice": "ideal:2",
               "collective": {"kind": "all-gather", "bytes": 2,
                              "groups": [[0, 1]]},
               "chunks": [)" +
           chunks + R"(], "ops": [)" + ops + "]}";
  };
  const std::string chunks =
      R"({"owner": 0, "bytes": 1}, {"owner": 1, "bytes": 1})";
  RequireRefused({
      {"verify bad.json",
       "bad.json: /chunks/0/owner: expected an integer from 0 to 1, got 2",
       schedule(R"({"owner": 2, "bytes": 1})", "")},
      {"verify bad.json",
       "bad.json: /ops/0/op: expected transfer, local or compute, got \"send\"",
       schedule(chunks, R"({"op": "send"})")},
      {"verify bad.json", "bad.json: /ops/0: missing key \"route\"",
       schedule(chunks, R"({"op": "transfer", "src": 0, "dst": 1,
                            "mode": "copy", "chunks": [[0, 1]]})")},
      {"verify bad.json",
       "bad.json: /ops/0/chunks/0/1: expected an integer from 1 to 1, got 2",
       schedule(chunks, R"({"op": "transfer", "src": 0, "dst": 1,
                            "mode": "copy", "chunks": [[1, 2]],
                            "route": ["0:x+"]})")},
      {"simulate bad.json",
       "bad.json: /ops/0/after/0: expected an integer of at least 0, got -1",
       schedule(chunks, R"({"op": "compute", "chip": 0, "seconds": 0,
                            "after": [-1]})")},
      {"simulate bad.json",
       "bad.json: /ops/1: the transfers move more than 2^63 - 1 bytes over "
       "links",
       schedule(R"({"owner": 0, "bytes": 9223372036854775806},
                   {"owner": 1, "bytes": 1})",
                R"({"op": "transfer", "src": 0, "dst": 1, "mode": "copy",
                    "chunks": [[0, 1]], "route": ["0:x+"]},
                   {"op": "transfer", "src": 0, "dst": 1, "mode": "copy",
                    "chunks": [[0, 1]], "route": ["0:x+"]})")},
      {"simulate bad.json --lowering all-gather=ring",
       "--lowering: a schedule is lowered already", schedule(chunks, "")},
      {"simulate bad.json --fold on",
       "--fold on: a schedule is simulated as it stands, on every chip; leave "
       "it out",
       schedule(chunks, "")},
  });
}

TEST_CASE("a file without read permission is refused", "[cli]") {
  if (geteuid() == 0) return;  // root reads everything
  const TemporaryFolder folder;
  folder.Write("bad.json", "{}");
  std::filesystem::permissions(folder.path() / "bad.json",
                               std::filesystem::perms::none);
  const Outcome outcome = Podsim({"simulate", "bad.json"}, folder.path());
  CHECK(outcome.status == 2);
  CHECK(outcome.err ==
        "podsim: error: bad.json: cannot be read: Permission denied\n");
}

}  // namespace
}  // namespace podsim
