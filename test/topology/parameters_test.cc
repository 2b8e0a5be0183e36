#include "topology/parameters.h"

#include <catch2/catch.hpp>

#include "test/support/temporary_file.h"
#include "test/topology/input.h"

namespace podsim {
namespace {

constexpr char kKnown[] =
    "ici.bandwidth, ici.hop_latency, ici.message_overhead, ici.issue, "
    "ici.window, collective.launch, hbm.bandwidth, hbm.capacity, "
    "chip.flops.bf16, chip.flops.int8, chip.flops.fp8, chip.flops.fp4, "
    "dcn.bandwidth, dcn.latency, host.chips";

std::optional<double> Listed(const Parameters& parameters,
                             const std::string& json_key) {
  for (const ParameterValue& entry : ListParameters(parameters)) {
    if (entry.json_key == json_key) return entry.value;
  }
  FAIL("no " << json_key);
  return std::nullopt;
}

std::string SetError(const std::string& assignment) {
  return ErrorOf([&] {
    Parameters parameters;
    SetParameterText(parameters, assignment);
  });
}

struct Setting {
  std::string key;
  std::string value;
  std::string json_key;
  double si;
};

// Every key of the design, its value in SI units derived by hand.
const std::vector<Setting>& Settings() {
  static const std::vector<Setting> settings = {
      {"ici.bandwidth", "200GB/s", "ici.bandwidth_bytes_per_s", 200e9},
      {"ici.hop_latency", "500ns", "ici.hop_latency_s", 500e-9},
      {"ici.message_overhead", "2us", "ici.message_overhead_s", 2e-6},
      {"ici.issue", "250ps", "ici.issue_s", 250e-12},
      {"ici.window", "4", "ici.window", 4},
      {"collective.launch", "15us", "collective.launch_s", 15e-6},
      {"hbm.bandwidth", "1TB/s", "hbm.bandwidth_bytes_per_s", 1e12},
      {"hbm.capacity", "95GiB", "hbm.capacity_bytes", 95.0 * (1 << 30)},
      {"chip.flops.bf16", "459TFLOP/s", "chip.flops.bf16_flop_per_s", 459e12},
      {"chip.flops.int8", "918TFLOP/s", "chip.flops.int8_flop_per_s", 918e12},
      {"chip.flops.fp8", "0.5PFLOP/s", "chip.flops.fp8_flop_per_s", 0.5e15},
      {"chip.flops.fp4", "12.6PFLOP/s", "chip.flops.fp4_flop_per_s", 12.6e15},
      {"dcn.bandwidth", "100Gbit/s", "dcn.bandwidth_bytes_per_s", 12.5e9},
      {"dcn.latency", "10us", "dcn.latency_s", 10e-6},
      {"host.chips", "8", "host.chips", 8}};
  return settings;
}

TEST_CASE("every key of the design can be set and stands in the output",
          "[topology]") {
  std::vector<std::string> keys, json_keys;
  Parameters all;
  for (const Setting& setting : Settings()) {
    CAPTURE(setting.key);
    Parameters one;
    SetParameter(one, setting.key, setting.value, "here");
    CHECK(Listed(one, setting.json_key) == Approx(setting.si));
    SetParameterText(all, setting.key + "=" + setting.value);
    keys.push_back(setting.key);
    json_keys.push_back(setting.json_key);
  }
  CHECK(std::vector<std::string>(ParameterKeys().begin(),
                                 ParameterKeys().end()) == keys);
  std::vector<std::string> listed;
  for (const ParameterValue& entry : ListParameters(all)) {
    listed.push_back(entry.json_key);
  }
  CHECK(listed == json_keys);
  for (const Setting& setting : Settings()) {
    CHECK(Listed(all, setting.json_key) == Approx(setting.si));
  }
}

TEST_CASE("one setting leaves the others alone", "[topology]") {
  const Slice usual = SliceOf("v5p:4x4x4");
  const Slice changed = SliceOf("v5p:4x4x4", {"ici.bandwidth=200GB/s"});
  for (const ParameterValue& entry : ListParameters(usual.parameters)) {
    CAPTURE(entry.json_key);
    const auto now = Listed(changed.parameters, entry.json_key);
    if (entry.json_key == "ici.bandwidth_bytes_per_s") {
      CHECK(now == 200e9);
    } else {
      CHECK(now == entry.value);
    }
  }
  changed.topology.ForEachLiveLink([&](LinkId link) {
    REQUIRE(changed.topology.Bandwidth(link).value() == 200e9);
  });
}

TEST_CASE("chip.flops alone is the default dtype bf16", "[topology]") {
  Parameters parameters;
  SetParameterText(parameters, "chip.flops=1PFLOP/s");
  CHECK(parameters.chip_flops.size() == 1);
  CHECK(parameters.chip_flops.at("bf16").value() == 1e15);
}

TEST_CASE("what a generation does not say is null in the output",
          "[topology]") {
  const Parameters parameters = SliceOf("ideal:4").parameters;
  for (const char* key :
       {"hbm.bandwidth_bytes_per_s", "hbm.capacity_bytes",
        "chip.flops.bf16_flop_per_s", "dcn.bandwidth_bytes_per_s",
        "dcn.latency_s", "host.chips"}) {
    CAPTURE(key);
    CHECK(!Listed(parameters, key));
  }
  CHECK(Listed(parameters, "ici.bandwidth_bytes_per_s") == 100e9);
  CHECK(Listed(parameters, "ici.hop_latency_s") == 0.0);
}

TEST_CASE("ideal zeroes every latency, overhead, issue and launch cost",
          "[topology]") {
  Parameters parameters;
  for (const Setting& setting : Settings()) {
    SetParameter(parameters, setting.key, setting.value, "here");
  }
  MakeIdeal(parameters);
  for (const Setting& setting : Settings()) {
    CAPTURE(setting.key);
    const bool cost = setting.json_key.ends_with("_s") &&
                      !setting.json_key.ends_with("per_s");
    CHECK(Listed(parameters, setting.json_key) ==
          Approx(cost ? 0 : setting.si));
  }
}

TEST_CASE(
    "the command line wins over --ideal, that over a workload, that over "
    "a topology file, that over the generation",
    "[topology]") {
  const TemporaryFile file(
      "order.json",
      R"({"format": "podsim-topology/1", "generation": "v5p",
          "shape": [4, 4, 4], "parameters": {"ici.hop_latency": "500ns",
          "ici.message_overhead": "1us", "hbm.bandwidth": "1TB/s",
          "ici.bandwidth": "80GB/s"}})");
  SliceRequest request;
  request.spec = file.path();
  Parameters now = MakeSlice(request).parameters;
  CHECK(now.ici_hop_latency.value() == Approx(500e-9));
  CHECK(now.ici_message_overhead.value() == Approx(1e-6));
  CHECK(now.ici_bandwidth.value() == 80e9);
  CHECK(now.hbm_bandwidth->value() == 1e12);
  CHECK(now.hbm_capacity->value() == 95LL << 30);  // the generation's

  request.overrides = {{"ici.hop_latency", "300ns", "w.json: /parameters"},
                       {"ici.bandwidth", "70GB/s", "w.json: /parameters"}};
  now = MakeSlice(request).parameters;
  CHECK(now.ici_hop_latency.value() == Approx(300e-9));
  CHECK(now.ici_bandwidth.value() == 70e9);
  CHECK(now.ici_message_overhead.value() == Approx(1e-6));

  request.ideal = true;
  now = MakeSlice(request).parameters;
  CHECK(now.ici_hop_latency.value() == 0);
  CHECK(now.ici_message_overhead.value() == 0);
  CHECK(now.ici_bandwidth.value() == 70e9);

  request.sets = {"ici.hop_latency=200ns", "ici.bandwidth=60GB/s"};
  const Slice slice = MakeSlice(request);
  CHECK(slice.parameters.ici_hop_latency.value() == Approx(200e-9));
  CHECK(slice.parameters.ici_bandwidth.value() == 60e9);
  CHECK(slice.parameters.ici_message_overhead.value() == 0);
  // The links follow the parameters.
  CHECK(slice.topology.Bandwidth(LinkId(0)).value() == 60e9);
  CHECK(slice.topology.Latency(LinkId(0)).value() == Approx(200e-9));

  // Of two settings the later one wins.
  request.sets.push_back("ici.bandwidth=50GB/s");
  CHECK(MakeSlice(request).parameters.ici_bandwidth.value() == 50e9);
}

struct BadSetting {
  std::string assignment;
  std::string what;  // after "--set ASSIGNMENT: "
};

TEST_CASE("a bad setting says what was found and what was expected",
          "[topology]") {
  const std::string known = std::string(" (known: ") + kKnown + ")";
  const std::string bandwidths =
      " (known: B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s, "
      "bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s)";
  const std::vector<BadSetting> table = {
      {"ici.bandwith=90GB/s",
       "unknown parameter \"ici.bandwith\"; did you mean \"ici.bandwidth\"?" +
           known},
      {"hop_latency=1us",
       "unknown parameter \"hop_latency\"; did you mean \"ici.hop_latency\"?" +
           known},
      {"chip.flops.fp16=1TFLOP/s",
       "unknown parameter \"chip.flops.fp16\"; did you mean "
       "\"chip.flops.bf16\"?" +
           known},
      {"ici.bandwidth",
       "expected KEY=VALUE, for example ici.bandwidth=200GB/s"},
      {"", "expected KEY=VALUE, for example ici.bandwidth=200GB/s"},
      {"ici.bandwidth=200",
       "\"200\" has no unit; write for example \"200GB/s\""},
      {"ici.bandwidth=90Gbps",
       "\"90Gbps\" is ambiguous; write \"90GB/s\" or \"90Gbit/s\""},
      {"ici.bandwidth=0GB/s", "\"0GB/s\" must be greater than zero"},
      {"ici.bandwidth=-1GB/s", "\"-1GB/s\" must not be negative"},
      {"ici.bandwidth=",
       "\"\" is not a number with a unit; write for example "
       "\"90GB/s\""},
      {"ici.hop_latency=90GB/s",
       "\"90GB/s\" has the unknown unit \"GB/s\" (known: s, ms, us, ns, ps)"},
      {"ici.hop_latency=-1us", "\"-1us\" must not be negative"},
      {"hbm.capacity=1.5B", "\"1.5B\" is not a whole number of bytes"},
      {"chip.flops=459TFLOP",
       "\"459TFLOP\" has the unknown unit \"TFLOP\"; did you mean "
       "\"459TFLOP/s\"? (known: FLOP/s, kFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, "
       "PFLOP/s)"},
      {"ici.window=-1", "expected an integer from 0 to 1048576, got \"-1\""},
      {"ici.window=1.5", "expected an integer from 0 to 1048576, got \"1.5\""},
      {"host.chips=0", "expected an integer from 1 to 1024, got \"0\""},
      {"dcn.bandwidth=1GBps",
       "\"1GBps\" is ambiguous; write \"1GB/s\" or \"1Gbit/s\""},
      {"dcn.bandwidth=1GB",
       "\"1GB\" has the unknown unit \"GB\"; did you mean \"1GB/s\"?" +
           bandwidths}};
  for (const BadSetting& row : table) {
    CHECK(SetError(row.assignment) ==
          "--set " + row.assignment + ": " + row.what);
  }
}

TEST_CASE("a setting of a file is refused at its own place", "[topology]") {
  SliceRequest request;
  request.spec = "v5p:4x4x4";
  request.overrides = {
      {"ici.hop_latency", "1", "w.json: /parameters/ici.hop_latency"}};
  CHECK(ErrorOf([&] { MakeSlice(request); }) ==
        "w.json: /parameters/ici.hop_latency: \"1\" has no unit; write for "
        "example \"1us\"");
  request.overrides = {{"ici.hop", "1us", "w.json: /parameters/ici.hop"}};
  CHECK(ErrorOf([&] { MakeSlice(request); }) ==
        "w.json: /parameters/ici.hop: unknown parameter \"ici.hop\"; did you "
        "mean \"ici.issue\"? (known: " +
            std::string(kKnown) + ")");
}

TEST_CASE("the flag --ideal takes the issue cost of a file away",
          "[topology]") {
  SliceRequest request;
  request.spec = "v5p:4x4x4";
  request.overrides = {{"ici.issue", "2us", "w.json"}};
  CHECK(MakeSlice(request).parameters.ici_issue.value() == 2e-6);
  request.ideal = true;
  CHECK(MakeSlice(request).parameters.ici_issue.value() == 0);
}

}  // namespace
}  // namespace podsim
