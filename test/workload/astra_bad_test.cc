// Bad text workloads and systems of ASTRA-sim: where, what was found, what was
// expected, and the remedy.
#include <catch2/catch.hpp>

#include "test/support/error_of.h"
#include "test/support/temporary_file.h"
#include "workload/astra.h"

namespace podsim {
namespace {

struct BadText {
  std::string text;
  std::string message;  // its beginning
};

// One layer of 12 columns, some of them others.
std::string Layer(const std::string& forward,
                  const std::string& weights = "1 NONE 0") {
  return "a -1 " + forward + " 1 NONE 0 " + weights + " 1\n";
}

TEST_CASE("bad text workloads of ASTRA-sim are refused at their place",
          "[workload][astra]") {
  const std::string known =
      "MICRO, DATA, MODEL, HYBRID_DATA_MODEL, HYBRID_MODEL_DATA, "
      "HYBRID_TRANSFORMER, HYBRID_CUSTOMIZED";
  const std::string kinds =
      "expected NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, found ";
  const std::string columns =
      "columns: name, -1, then compute time, collective and bytes of forward, "
      "input gradient and weight gradient, then update time";
  const std::vector<BadText> table = {
      {"", "w.txt: expected a parallelism on line 1 (" + known +
               "), found nothing"},
      {"\n \t\r\n", "w.txt: expected a parallelism on line 1"},
      {"DAT\n1\n", "w.txt:1:1: expected a parallelism (" + known +
                       "), found \"DAT\"; did you mean DATA?"},
      {"data\n1\n", "w.txt:1:1: expected a parallelism"},
      {"HYBRID_DLRM 3\n1\n",
       "w.txt:1:1: \"HYBRID_DLRM\" is not modelled; "
       "expected one of " +
           known},
      {"HYBRID_TRANSFORMER_FWD_IN_BCKWD\n",
       "w.txt:1:1: \"HYBRID_TRANSFORMER_FWD_IN_BCKWD\" is not modelled"},
      {"DATA 8\n1\n", "w.txt:1:6: DATA has no options, found \"8\"; remove it"},
      {"HYBRID_TRANSFORMER\n1\n",
       "w.txt:1:1: expected \"HYBRID_TRANSFORMER model_parallel_NPU_group: "
       "G\", G NPUs that share a model, found 0 words after the first"},
      {"HYBRID_TRANSFORMER group: 8\n1\n",
       "w.txt:1:20: expected \"HYBRID_TRANSFORMER model_parallel_NPU_group"},
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 0\n1\n",
       "w.txt:1:46: expected the NPUs that share a model, a whole number from "
       "1 to 16777216, found \"0\""},
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 4 checkpoints:\n1\n",
       "w.txt:1:48: expected \"HYBRID_TRANSFORMER"},
      {"DATA\n",
       "w.txt: expected the number of layers on line 2, found "
       "nothing"},
      {"DATA\nten\n",
       "w.txt:2:1: expected the number of layers, a whole "
       "number from 1 to 1048576, found \"ten\""},
      {"DATA\n0\n",
       "w.txt:2:1: expected the number of layers, a whole number "
       "from 1"},
      {"DATA\n1 2\n",
       "w.txt:2:3: expected the number of layers alone, found "
       "\"2\" after it"},
      {"DATA\n2\n" + Layer("1 NONE 0"),
       "w.txt:3: expected the 2 layers of line 2, found 1; correct the count, "
       "or the file is cut"},
      {"DATA\n1\n" + Layer("1 NONE 0") + Layer("1 NONE 0"),
       "w.txt:4:1: expected no more than the 1 layers of line 2, found another "
       "line; correct the count"},
      {"DATA\n1\na -1 1 NONE 0\n",
       "w.txt:3:1: expected 12 " + columns + "; found 5"},
      {"DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1 DATA\n",
       "w.txt:3:35: expected 12 " + columns + "; found 13"},
      {"HYBRID_CUSTOMIZED\n1\n" + Layer("1 NONE 0"),
       "w.txt:3:1: expected 13 " + columns + ", parallelism; found 12"},
      {"HYBRID_CUSTOMIZED\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1 MICRO\n",
       "w.txt:3:35: expected the parallelism of the layer (DATA, MODEL, "
       "HYBRID_DATA_MODEL, HYBRID_MODEL_DATA), found \"MICRO\""},
      {"DATA\n1\na x 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
       "w.txt:3:3: expected the dependence, which is not used, a whole number "
       "from -1 to 2147483647, found \"x\""},
      {"DATA\n1\n" + Layer("1.5 NONE 0"),
       "w.txt:3:6: expected a compute time, a whole number from 0 to "
       "1000000000000000, found \"1.5\""},
      {"DATA\n1\n" + Layer("-1 NONE 0"),
       "w.txt:3:6: expected a compute time, a whole number from 0"},
      {"DATA\n1\n" + Layer("99999999999999999999 NONE 0"),
       "w.txt:3:6: expected a compute time, a whole number from 0"},
      {"MODEL\n1\n" + Layer("1 ALLREDUC 8"),
       "w.txt:3:8: " + kinds + "\"ALLREDUC\"; did you mean ALLREDUCE?"},
      {"MODEL\n1\n" + Layer("1 BROADCAST 8"), "w.txt:3:8: " + kinds},
      {"MODEL\n1\n" + Layer("1 ALLREDUCEALLTOALL 8"),
       "w.txt:3:8: two collectives in one are not modelled; split the layer in "
       "two, one with each"},
      {"MODEL\n1\n" + Layer("1 NONE 8"),
       "w.txt:3:13: expected 0 bytes after NONE, found \"8\"; name the "
       "collective, or write 0"},
      {"MODEL\n1\n" + Layer("1 ALLREDUCE 1MiB"),
       "w.txt:3:18: expected bytes, a whole number from 0 to "
       "9007199254740992, found \"1MiB\""},
      {"DATA\n1\n" + Layer("1 ALLREDUCE 8"),
       "w.txt:3:8: expected NONE 0, as DATA has no such collective (only the "
       "weight gradients of DATA are communicated), found all-reduce"},
      {"MODEL\n1\n" + Layer("1 NONE 0", "1 ALLREDUCE 8"),
       "w.txt:3:26: expected NONE 0, as MODEL has no such collective"},
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 3\n1\n" +
           Layer("1 ALLREDUCE 8"),
       "w.txt:1:1: model_parallel_NPU_group 3 does not divide the 8 NPUs of "
       "the network; expected a divisor"},
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 1\n1\n" +
           Layer("1 ALLREDUCE 8"),
       "w.txt:3:8: expected NONE 0, as HYBRID_TRANSFORMER has no such "
       "collective (its groups have one NPU on this network), found "
       "all-reduce"},
      {"DATA\n1\na -1 0 NONE 0 0 NONE 0 0 NONE 0 0\n",
       "w.txt: no layer computes or communicates anything; expected a time or "
       "a collective"}};
  const TemporaryFile network(
      "astra_bad.yml",
      "topology: [Ring, Ring]\nnpus_count: [4, 2]\nbandwidth: [50, 50]\n"
      "latency: [500, 500]\n");
  WorkloadRequest request;
  request.slice.spec = network.path();
  request.lowerings = {"all-reduce=auto"};
  for (const BadText& bad : table) {
    CAPTURE(bad.text);
    const std::string found = ErrorOf([&] {
      MakeAstraWorkload(ParseAstraText(bad.text, "w.txt"), {}, request, 1);
    });
    CHECK(found.substr(0, bad.message.size()) == bad.message);
  }
}

TEST_CASE("bad systems of ASTRA-sim are refused at their place",
          "[workload][astra]") {
  const auto reduce = [](const std::string& list) {
    return "{\"all-reduce-implementation\": " + list + "}";
  };
  const std::string known =
      "expected one of ring, oneRing, direct, oneDirect, halvingDoubling, "
      "oneHalvingDoubling, doubleBinaryTree, or direct4 for 4 messages in "
      "flight, found ";
  const std::string at = "s.json: /all-reduce-implementation";
  const std::string remedy = "; use another, or --lowering all-reduce=auto";
  const std::vector<BadText> table = {
      {"[]", "s.json: "},
      {"{", "s.json:1:"},
      {"{\"endpoint-delay\": \"10ns\"}", "s.json: /endpoint-delay: "},
      {"{\"endpoint-delay\": -1}",
       "s.json: /endpoint-delay: expected ns from 0 to 1e12, found -1"},
      {"{\"preferred-dataset-splits\": 0}",
       "s.json: /preferred-dataset-splits: "},
      {"{\"preferred-dataset-splits\": 1.5}",
       "s.json: /preferred-dataset-splits: "},
      {"{\"collective-optimization\": \"fast\"}",
       "s.json: /collective-optimization: expected baseline or localBWAware, "
       "found \"fast\""},
      {"{\"local-mem-bw\": \"50\"}", "s.json: /local-mem-bw: "},
      {"{\"scheduling-policy\": 1}", "s.json: /scheduling-policy: "},
      {"{\"all-reduce-implementation-custom\": [\"x\"]}",
       "s.json: /all-reduce-implementation-custom: collectives of your own "
       "(.et) are not read; remove the key and name an implementation such as "
       "ring"},
      {"{\"endpoint-delay\": 1, \"endpoint-delay\": 2}",
       "s.json: /endpoint-delay: the key stands twice"},
      {reduce("\"ring\""), at + ": "},
      {reduce("[]"), at + ": expected an entry per dimension of the network, "
                          "such as [\"ring\", \"ring\"], found []"},
      {reduce("[1, 2]"), at + "/0: "},
      {"{}",
       "s.json: the key \"all-reduce-implementation\" is missing, which "
       "the workload needs; add it, or --lowering all-reduce=auto"},
      {reduce("[\"ring\"]"), at + ": expected 2 entries, one per dimension of "
                                  "the network, found 1"},
      {reduce("[\"ring\", \"rnig\"]"),
       at + "/1: " + known + "\"rnig\"; did you mean ring?"},
      {reduce("[\"ring4\", \"ring4\"]"), at + "/0: " + known + "\"ring4\""},
      {reduce("[\"direct0\", \"ring\"]"),
       at + "/0: expected 1 to 1024 messages in flight, found \"direct0\""},
      {reduce("[\"\", \"ring\"]"), at + "/0: " + known + "\"\""},
      {reduce("[\"ring\", \"direct\"]"),
       at +
           "/1: \"direct\" after \"ring\" is not modelled: podsim runs one "
           "implementation on all dimensions" +
           remedy},
      {reduce("[\"oneRing\", \"oneRing\"]"),
       at + "/0: \"oneRing\" is not modelled for all-reduce on 2 dimensions" +
           remedy},
      {reduce("[\"direct\", \"direct\"]"),
       at + "/0: \"direct\" is not modelled for all-reduce on 2 dimensions"},
      {reduce("[\"doubleBinaryTree\", \"doubleBinaryTree\"]"),
       at + "/0: \"doubleBinaryTree\" is not modelled for all-reduce on 2"},
      {reduce("[\"halvingDoubling\", \"halvingDoubling\"]"),
       at + "/0: \"halvingDoubling\" is not modelled for all-reduce on 2"}};
  for (const BadText& bad : table) {
    CAPTURE(bad.text);
    const std::string found = ErrorOf([&] {
      AstraLowering(ReadAstraSystem(JsonValue::ParseText(bad.text, "s.json")),
                    CollectiveKind::kAllReduce, {0, 1}, 2);
    });
    CHECK(found.substr(0, bad.message.size()) == bad.message);
    CHECK(found.size() > 20);
  }
}

}  // namespace
}  // namespace podsim
