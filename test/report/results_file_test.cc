// Files of results, as JSON and CSV: the same points come out of both.
#include "report/results_file.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace podsim {
namespace {

// Reads a file with this text, named results.
ResultsFile Read(const std::string& text) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "podsim-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/results";
  std::ofstream(path, std::ios::binary) << text;
  try {
    ResultsFile file = ReadResults(path);
    std::filesystem::remove_all(folder);
    return file;
  } catch (const InputError& error) {
    std::filesystem::remove_all(folder);
    // Without the folder, which is another one every time.
    throw InputError("", std::string(error.what()).substr(folder.size() + 1));
  }
}

TEST_CASE("JSON and CSV of the same point are the same", "[report]") {
  const ResultsFile json = Read(R"({"format": "podsim-result/1",
      "version": "1", "points": [{"request": "r", "collective": "all-reduce",
      "slice": "a,b", "payload_bytes": 65536, "group_size": 4,
      "lowering": "ring", "engine": "pod", "network": "fluid",
      "time_s": 1.5e-6, "parameters": {"x": 0.1, "y": null}}]})");
  const ResultsFile csv = Read(
      "request,collective,lowering,slice,group_size,payload_bytes,time_s,"
      "engine,network,parameters,version,error\n"
      "r,all-reduce,ring,\"a,b\",4,65536,1.5000000000000000e-06,pod,fluid,"
      "x=0.1,1,\n");
  for (const ResultsFile& file : {json, csv}) {
    REQUIRE(file.points.size() == 1);
    const ResultPoint& point = file.points[0];
    CHECK(point.request == "r");
    CHECK(point.identity ==
          "all-reduce slice=a,b bytes=65536 group_size=4 lowering=ring "
          "engine=pod network=fluid");
    CHECK(point.time_s == 1.5e-6);
    CHECK_FALSE(point.error);
    CHECK(point.version == "1");
    CHECK(point.parameters == std::map<std::string, double>{{"x", 0.1}});
  }
}

TEST_CASE("a file of one run shares its parameters, and names its steps",
          "[report]") {
  const ResultsFile file = Read(R"({"format": "podsim-result/1",
      "version": "1", "parameters": {"x": 2}, "points": [
      {"name": "n", "slice": "s", "makespan_s": 3},
      {"collective": "c", "slice": "s", "time_s": null}]})");
  REQUIRE(file.points.size() == 2);
  CHECK(file.points[0].identity == "step n slice=s");
  CHECK(file.points[0].time_s == 3);
  CHECK(file.points[0].parameters == std::map<std::string, double>{{"x", 2}});
  CHECK_FALSE(file.points[1].time_s);
}

TEST_CASE("quoted fields hold commas, quotes and lines", "[report]") {
  const ResultsFile file = Read(
      "request,time_s,error\r\n"
      "\"a \"\"b\"\", c\",,\"two\nlines\"\r\n"
      "d,1,\r\n");
  REQUIRE(file.points.size() == 2);
  CHECK(file.points[0].request == "a \"b\", c");
  CHECK(file.points[0].error == "two\nlines");
  CHECK(file.points[1].time_s == 1);
  CHECK(file.points[1].where.ends_with("results:4"));
  CHECK_FALSE(file.points[1].version);
  CHECK_FALSE(file.points[1].parameters);
}

struct Bad {
  std::string text;
  std::string message;
};

TEST_CASE("files that are no results are refused at the place", "[report]") {
  const auto points = [](const std::string& list) {
    return R"({"format": "podsim-result/1", "version": "1", "points": [)" +
           list + "]}";
  };
  for (const Bad& bad : std::vector<Bad>{
           {"", "results: empty file"},
           {"\n", "results: empty file"},
           {"a,b\n1,2\n",
            "results:1: expected podsim-result/1, or the header of a CSV of "
            "podsim with time_s and request or collective; got \"a,b\""},
           {"request,time_s\na,1,2\n",
            "results:2: expected 2 fields as in the header, got 3"},
           {"request,time_s\na,1\n\"b,2\n",
            "results:3: a quoted field does not end"},
           {"request,time_s\na,1us\n",
            "results:2: time_s: expected a number, got \"1us\""},
           {"request,time_s\na,-1\n",
            "results:2: time_s: expected a time in seconds, got -1"},
           {"request,time_s\na,nan\n",
            "results:2: time_s: expected a time in seconds, got nan"},
           {"request,time_s,parameters\na,1,x\n",
            "results:2: parameters: expected KEY=NUMBER;.., got \"x\""},
           {"request,time_s,parameters\na,1,x=1us\n",
            "results:2: parameters: expected a number, got \"1us\""},
           {"{}", "results: missing key \"format\""},
           {R"({"format": "podsim-sweep/1"})",
            "results: /format: expected \"podsim-result/1\", got "
            "\"podsim-sweep/1\"; see `podsim sweep --help`"},
           {R"({"format": "podsim-result/1", "points": []})",
            "results: missing key \"version\""},
           {R"({"format": "podsim-result/1", "version": "1"})",
            "results: missing key \"points\""},
           {points("{}"),
            "results: /points/0: expected one of the keys time_s, makespan_s "
            "and error"},
           {points(R"({"time_s": "1us"})"),
            "results: /points/0/time_s: expected a number, got \"1us\""},
           {points(R"({"time_s": -1})"),
            "results: /points/0/time_s: expected a time in seconds, got -1"},
           {points(R"({"time_s": 1, "request": 2})"),
            "results: /points/0/request: expected a string, got 2"},
       }) {
    CAPTURE(bad.text);
    CHECK_THROWS_WITH(Read(bad.text), bad.message);
  }
}

}  // namespace
}  // namespace podsim
