// Sweeps and checks that cannot be used, and the full message of each. Nothing
// runs, and no output file is touched.
#include <catch2/catch.hpp>

#include "test/cli/podsim_process.h"

namespace podsim {
namespace {

struct BadSweep {
  std::string keys;  // behind "format"
  std::string message;
};

void RequireRefused(const TemporaryFolder& folder,
                    const std::vector<std::string>& args,
                    const std::string& message) {
  CAPTURE(args);
  const std::vector<std::string> before = folder.List();
  const Outcome outcome = Podsim(args, folder.path());
  CHECK(outcome.err == "podsim: error: " + message + "\n");
  CHECK(outcome.status == 2);
  CHECK(outcome.out == "");
  CHECK(folder.List() == before);
}

void RequireRefused(const std::vector<BadSweep>& table) {
  const TemporaryFolder folder;
  folder.Write("out.csv", "as it was");
  folder.Write("schedule.json", R"({"format": "podsim-schedule/1"})");
  folder.Write("broken.json", "{");
  for (const BadSweep& bad : table) {
    CAPTURE(bad.keys);
    folder.Write("s.json", R"({"format": "podsim-sweep/1", )" + bad.keys + "}");
    RequireRefused(folder, {"sweep", "s.json", "-o", "out.csv"},
                   "s.json: " + bad.message);
    CHECK(folder.Read("out.csv") == "as it was");
  }
}

// A good sweep and more keys.
std::string With(const std::string& keys) {
  return R"("collective": "all-reduce", "slice": ["v5e:4x4", "v5e:4x8"],
            "bytes": "1KiB", )" +
         keys;
}

TEST_CASE("sweeps with wrong keys or lists are refused at the place", "[cli]") {
  const std::string keys =
      " (known: format, name, source, collective, slice, bytes, axes, "
      "lowering, network, fold, fault, set, workload, zip)";
  RequireRefused({
      {With(R"("slices": 1)"),
       "/slices: unknown key; did you mean \"slice\"?" + keys},
      {With(R"("zzz": 1)"), "/zzz: unknown key" + keys},
      {With(R"("name": 1)"), "/name: expected a string, got 1"},
      {R"("slice": "v5e:4x4", "bytes": "1KiB")",
       "missing key \"collective\", or \"workload\""},
      {R"("collective": "all-reduce", "bytes": "1KiB")",
       "missing key \"slice\""},
      {R"("collective": "all-reduce", "slice": "v5e:4x4")",
       "missing key \"bytes\""},
      {R"("collective": [], "slice": "v5e:4x4", "bytes": "1KiB")",
       "/collective: expected at least one value, got []"},
      {R"("collective": ["all-gather", "allreduce"], "slice": "v5e:4x4",
          "bytes": "1KiB")",
       "/collective/1: unknown collective \"allreduce\"; did you mean "
       "\"all-reduce\"? (known: all-reduce, all-gather, reduce-scatter, "
       "all-to-all, ragged-all-to-all, broadcast, reduce, gather, scatter, "
       "collective-permute)"},
      {R"("collective": "ragged-all-to-all", "slice": "v5e:4x4",
          "bytes": "1KiB")",
       "/collective: a sweep has no byte matrix; put the ragged-all-to-all "
       "into a workload and sweep that"},
      {R"("collective": "all-reduce", "slice": 4, "bytes": "1KiB")",
       "/slice: expected a string, got 4"},
      {R"("collective": "all-reduce", "slice": "", "bytes": "1KiB")",
       "/slice: must not be empty"},
      {R"("collective": "all-reduce", "slice": "v5e:4x4", "bytes": 1024)",
       "/bytes: expected a string, got 1024"},
      {R"("collective": "all-reduce", "slice": "v5e:4x4", "bytes": "1024")",
       "/bytes: \"1024\" has no unit; write for example \"1024MiB\""},
      {R"("collective": "all-reduce", "slice": "v5e:4x4",
          "bytes": ["1KiB", "4KiB..1KiB"])",
       "/bytes/1: the range \"4KiB..1KiB\" runs backwards; write the smaller "
       "size first"},
      {With(R"("axes": ["x", 1])"), "/axes/1: expected a string, got 1"},
      {With(R"("lowering": "all")"),
       "/lowering: expected one lowering, got \"all\"; list the lowerings, or "
       "use `podsim compare`"},
      {With(R"("lowering": ["ring", "rings"])"),
       "/lowering/1: unknown lowering \"rings\"; did you mean \"ring\"? "
       "(known: auto, ring, ring-split, ring-short, line, bucket, "
       "bucket-rotated, bfb, line-middle, chain, bfs-tree, double-binary-tree, "
       "binomial, direct, direct-twisted, ragged, one-shot, "
       "recursive-doubling, halving-doubling, swing, bruck, staged, "
       "staged-rotated, neighbor, hierarchical, "
       "split-shift, windowed-matmul, hamiltonian, hamiltonian-pair, greedy, "
       "edge-disjoint-trees, spanning-trees, tree-packing, detour, fx, "
       "swing-exchange, axis-exchange)"},
      {With(R"("network": "packets")"),
       "/network: expected fluid, fifo or packet[:size=4KiB,"
       "cut_through=true], got \"packets\""},
      {With(R"("network": ["fifo", "packet:size=1"])"),
       "/network/1: size: \"1\" has no unit; write for example \"1MiB\""},
      {With(R"("fold": [true])"), "/fold/0: expected a string, got true"},
      {With(R"("fold": "yes")"),
       "/fold: expected auto or on or off, got \"yes\""},
      {With(R"("fault": [["chip:0,0", ""]])"), "/fault/0/1: must not be empty"},
      {With(R"("fault": "each-cabel")"),
       "/fault: expected each-cable, each-chip or a fault, got \"each-cabel\""},
      {With(R"("set": ["ici.hop_latency=1us"])"),
       "/set: expected an object, got [\"ici.hop_latency=1us\"]"},
      {With(R"("set": {"ici.latency": ["1us"]})"),
       "/set/ici.latency: unknown parameter \"ici.latency\"; did you mean "
       "\"dcn.latency\"? (known: ici.bandwidth, ici.hop_latency, "
       "ici.message_overhead, ici.issue, ici.window, collective.launch, "
       "hbm.bandwidth, hbm.capacity, chip.flops.bf16, chip.flops.int8, "
       "chip.flops.fp8, chip.flops.fp4, dcn.bandwidth, dcn.latency, "
       "host.chips)"},
      {With(R"("set": {"ici.hop_latency": ["1us", "1"]})"),
       "/set/ici.hop_latency/1: \"1\" has no unit; write for example \"1us\""},
      {With(R"("set": {"ici.hop_latency": []})"),
       "/set/ici.hop_latency: expected at least one value, got []"},
  });
}

TEST_CASE("zips that do not fit are refused at the place", "[cli]") {
  const std::string known = " (known: collective, slice, bytes, fold)";
  const auto zip = [](const std::string& lists) {
    return With(R"("fold": ["on", "off", "auto"], "zip": )" + lists);
  };
  RequireRefused({
      {zip(R"(["slice", "fold"])"), "/zip/0: expected an array, got \"slice\""},
      {zip(R"([["slice", "fold"]])"),
       "/zip/0: \"slice\" has 2 values and \"fold\" has 3 values; lists that "
       "vary together must be equally long"},
      {zip(R"([["bytes", "slice"]])"),
       "/zip/0: \"bytes\" has 1 value and \"slice\" has 2 values; lists that "
       "vary together must be equally long"},
      {zip(R"([["slice", "folds"]])"),
       "/zip/0/1: this sweep has no list \"folds\"; did you mean \"fold\"?" +
           known},
      {zip(R"([["slice", "axes"]])"),
       "/zip/0/1: this sweep has no list \"axes\"" + known},
      {zip(R"([["slice", "slice"]])"), "/zip/0/1: \"slice\" is bound twice"},
      {zip(R"([["bytes", "collective"], ["fold", "bytes"]])"),
       "/zip/1/1: \"bytes\" is bound twice"},
      {zip(R"([["slice"]])"),
       "/zip/0: expected the names of at least two lists, got [\"slice\"]"},
      {R"("collective": "all-reduce", "slice": "v5e:4x4", "bytes": "1B..1TiB",
          "axes": ["x", "y", "", "x", "y", "", "x", "y", "", "x", "y", ""],
          "set": {)" +
           [] {
             std::string sets;
             for (const std::string key :
                  {"ici.hop_latency", "ici.message_overhead", "dcn.latency",
                   "collective.launch"}) {
               sets +=
                   (sets.empty() ? "\"" : ", \"") + key +
                   R"(": ["1us", "2us", "3us", "4us", "5us", "6us", "7us"])";
             }
             return sets;
           }() +
           "}",
       "expected at most 1000000 points, the lists span more; make ranges "
       "shorter, or bind lists with zip"},
  });
}

TEST_CASE("sweeps of workloads that cannot be used are refused", "[cli]") {
  const std::string beside =
      ": stands beside \"workload\", whose ops say it; remove one of the two";
  RequireRefused({
      {With(R"("workload": "w.json")"), "/collective" + beside},
      {R"("workload": "w.json", "axes": "x")", "/axes" + beside},
      {R"("workload": [])", "/workload: expected at least one value, got []"},
      {R"("workload": "w.json")",
       "/workload: w.json: cannot be read: No such file or directory"},
      {R"("workload": ["schedule.json"])",
       "/workload/0: schedule.json: /format: expected \"podsim-workload/1\", "
       "got \"podsim-schedule/1\""},
      {R"("workload": "w.json", "lowering": "ring")",
       "/lowering: expected KIND=NAME, for example all-reduce=bucket, got "
       "\"ring\""},
      {R"("workload": "w.json", "lowering": [null, "all-reduce=all"])",
       "/lowering/1: expected one lowering, got \"all\"; list the lowerings, "
       "or use `podsim compare`"},
  });
}

TEST_CASE("command lines of sweep and check are refused", "[cli]") {
  const TemporaryFolder folder;
  folder.Write("s.json", R"({"format": "podsim-sweep/1",
      "collective": "all-reduce", "slice": "ideal:4", "bytes": "1KiB"})");
  folder.Write("r.csv", "request,time_s\na,1\n");
  folder.Write("twice.csv", "request,time_s\na,1\na,2\n");
  folder.Write("plain.csv",
               "collective,slice,payload_bytes,group_size,lowering,engine,"
               "network,time_s\nc,s,1,2,l,e,n,1\nc,s,1,2,l,e,n,2\n");
  folder.Write("empty.csv", "request,time_s\n");
  folder.Write("bad.json", "{");
  const auto refused = [&](const std::string& line,
                           const std::string& message) {
    RequireRefused(folder, Words(line), message);
  };
  refused("sweep", "FILE is required; see `podsim sweep --help`");
  refused("sweep missing.json",
          "missing.json: cannot be read: No such file or directory");
  refused("sweep r.csv --jobs 0",
          "--jobs: expected an integer from 1 to 1024, got \"0\"");
  refused("sweep s.json --jobs 1025",
          "--jobs: expected an integer from 1 to 1024, got \"1025\"");
  refused("sweep s.json --jobs all",
          "--jobs: expected an integer from 1 to 1024, got \"all\"");
  refused("sweep s.json --progress yes",
          "--progress: expected auto or on or off, got \"yes\"; see `podsim "
          "sweep --help`");
  refused("sweep s.json --max-memory 8",
          "--max-memory: \"8\" has no unit; write for example \"8MiB\"");
  refused("sweep s.json -o r.txt",
          "-o r.txt: expected a name that ends in .csv or .json, which says "
          "the format");
  refused("sweep s.json -o ./s.json",
          "-o ./s.json: is the sweep itself; expected another file");
  refused("sweep s.json -o missing/r.csv",
          "-o missing/r.csv: cannot be written: No such file or directory");
  refused("sweep s.json --slice v5e:4x4",
          "unknown flag \"--slice\"; see `podsim sweep --help`");
  refused("sweep r.csv",
          "r.csv:1:1: syntax error while parsing value - invalid literal");
  refused("check", "RESULTS is required; see `podsim check --help`");
  refused("check r.csv", "BASELINE is required; see `podsim check --help`");
  refused("check r.csv missing.csv",
          "missing.csv: cannot be read: No such file or directory");
  refused("check r.csv s.json",
          "s.json: /format: expected \"podsim-result/1\", got "
          "\"podsim-sweep/1\"; see `podsim sweep --help`");
  refused("check r.csv empty.csv",
          "empty.csv: the baseline has no points: nothing would be checked");
  refused("check twice.csv r.csv",
          "twice.csv:3: \"a\" stands in twice.csv:2 too, with another time; "
          "remove one of the two");
  refused("check plain.csv r.csv",
          "plain.csv:3: \"c slice=s bytes=1 group_size=2 lowering=l engine=e "
          "network=n\" stands in plain.csv:2 too, with another time; compare "
          "files of `podsim sweep`, whose points say what was asked");
  refused("check r.csv r.csv --tolerance 5",
          "--tolerance: \"5\" has no unit; write for example \"5%\"");
  refused("check r.csv r.csv --tolerance -1%",
          "--tolerance: \"-1%\" must not be negative");
  refused("check r.csv r.csv --tolerance 1001%",
          "--tolerance: expected 0% to 1000%, got \"1001%\"");
  refused("check r.csv r.csv --baseline-ranks 1",
          "--baseline-ranks: expected an integer from 2 to 16777216, got "
          "\"1\"");
  refused("check r.csv r.csv --baseline-time best",
          "--baseline-time: expected out-of-place or in-place, got \"best\"; "
          "see `podsim check --help`");
  refused("check r.csv r.csv --baseline-collective all-gather",
          "r.csv: is no log of nccl-tests: --baseline-collective, "
          "--baseline-ranks and --baseline-time say nothing of it");
  refused("check r.csv r.csv --eitherway",
          "unknown flag \"--eitherway\"; did you mean \"--either-way\"?; see "
          "`podsim check --help`");
}

}  // namespace
}  // namespace podsim
