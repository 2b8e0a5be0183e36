#include "report/terminal_plot.h"

#include <catch2/catch.hpp>
#include <sstream>

namespace podsim {
namespace {

std::vector<std::string> LinesOf(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

EfficiencyPoint At(const std::string& series, double bytes, double efficiency) {
  return {.panel = "all-reduce on v5e:4x4",
          .series = series,
          .payload_bytes = bytes,
          .efficiency = efficiency};
}

TEST_CASE("a plot of several sizes puts each letter where its share is") {
  const std::string text =
      TerminalPlot({At("ring", 1024, 0.5), At("ring", 4096, 1.0),
                    At("tree", 1024, 0.8), At("tree", 4096, 0.0)},
                   80);
  // Rows in tens from 100 % down; columns eight apart behind "100% |". "tree"
  // wins 1 KiB and "ring" 4 KiB; the mean of "ring" is better: it is a.
  CHECK(LinesOf(text) ==
        std::vector<std::string>{
            "", "all-reduce on v5e:4x4: efficiency by size, 100% = the bound",
            "100% |--------a", "     |         ", "     |b        ",
            "     |         ", "     |         ", " 50% |a        ",
            "     |         ", "     |         ", "     |         ",
            "     |         ", "  0% |        b", "      1KiB    4KiB",
            "a ring  b tree"});
}

TEST_CASE("a plot of one size is a bar for each lowering, best first") {
  const std::string text =
      TerminalPlot({At("tree", 1024, 0.25), At("ring", 1024, 1.0)}, 40);
  // 40 columns less a name of 4, a space and a share of 8 leave 27: 0.25 of
  // them is 6.75.
  CHECK(LinesOf(text) ==
        std::vector<std::string>{"", "all-reduce on v5e:4x4, 1KiB: efficien...",
                                 "ring ###########################  100.0%",
                                 "tree #######....................   25.0%"});
}

TEST_CASE("a plot never exceeds its columns, and says what it left out") {
  std::vector<EfficiencyPoint> points;
  for (int panel = 0; panel < 6; ++panel) {
    for (int series = 0; series < 30; ++series) {
      for (int size = 0; size < 40; ++size) {
        points.push_back(
            At("a-lowering-with-a-long-name-" + std::to_string(series),
               1024.0 * (size + 1), 1.0 / (series + 1)));
        points.back().panel = "panel " + std::to_string(panel);
      }
    }
  }
  const std::string text = TerminalPlot(points, 60);
  for (const std::string& line : LinesOf(text)) CHECK(line.size() <= 60);
  CHECK(text.find("and 22 lowerings that are best less often") !=
        std::string::npos);
  CHECK(text.find("and 2 more slices or collectives") != std::string::npos);
}

TEST_CASE("nothing to plot draws nothing") {
  CHECK(TerminalPlot({}, 80).empty());
}

TEST_CASE("results read from CSV and JSON draw the same plot") {
  const std::string csv =
      "collective,slice,payload_bytes,group_size,lowering,time_s,efficiency\n"
      "all-reduce,v5e:4x4,1024,16,ring:batches=1,1e-6,0.5\n"
      "all-reduce,v5e:4x4,2048,16,ring:batches=2,,\n";
  const std::string json =
      R"({"format": "podsim-result/1", "version": "0.1.0", "points": [
      {"collective": "all-reduce", "slice": "v5e:4x4", "payload_bytes": 1024,
       "group_size": 16, "lowering": "ring:batches=1", "time_s": 1e-6,
       "efficiency": 0.5}]})";
  const auto from_csv = EfficienciesOf(ParseResults(csv, "a.csv"));
  REQUIRE(from_csv.size() == 1);
  CHECK(from_csv[0].panel == "all-reduce on v5e:4x4");
  CHECK(from_csv[0].series == "ring");
  CHECK(TerminalPlot(from_csv, 80) ==
        TerminalPlot(EfficienciesOf(ParseResults(json, "a.json")), 80));
}

}  // namespace
}  // namespace podsim
