// HTML reports: the page needs nothing else, and its data are the result's.
#include "report/html.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "report/json.h"
#include "sim/simulate.h"
#include "test/support/lowered.h"

namespace podsim {
namespace {

using nlohmann::json;

constexpr std::size_t kMegabyte = 1'000'000;

// What stands in <script type="application/json">.
json DataOf(const std::string& page) {
  const std::string open = "id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

std::size_t CountOf(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

struct Reported {
  std::string json;
  std::string page;
};

// An all-reduce of 1 MiB on that slice.
Reported ReportOn(const std::string& spec, FoldMode fold) {
  SliceRequest request;
  request.spec = spec;
  const Slice slice = MakeSlice(request);
  SimOptions options;
  options.links = true;
  options.fold = fold;
  PhaseTimes times;
  RunRecord record;
  const Point point =
      SimulateCollective(OnAllChips(CollectiveKind::kAllReduce, 1 << 20, slice),
                         slice, std::nullopt, "test", options, times, &record);
  const std::string text = ResultJson(slice.parameters, {point}, {});
  return {text, HtmlReport({.title = "test",
                            .result = text,
                            .slice = &slice,
                            .record = &record})};
}

// The links of a point as the result has them, from a map of the report.
json LinksOf(const json& map) {
  json links = json::array();
  for (const json& row : map["links"]) {
    links.push_back({{"link", row[0]},
                     {"bytes", row[1]},
                     {"busy_s", row[2]},
                     {"utilisation", row[3]},
                     {"links", row[4]}});
  }
  return links;
}

// A result of `count` points, each with a text of `length` characters.
std::string ResultOf(int count, std::size_t length) {
  json result = {{"format", "podsim-result/1"}, {"points", json::array()}};
  for (int k = 0; k < count; ++k) {
    result["points"].push_back(
        {{"request", std::to_string(k) + std::string(length, 'x')},
         {"parameters", {{"ici.hop_latency_s", k % 2}}},
         {"payload_bytes", k}});
  }
  return result.dump();
}

TEST_CASE("a report loads nothing and is below 1 MB", "[html]") {
  const std::string page = ReportOn("v5p:4x4x4", FoldMode::kOff).page;
  CHECK(page.size() < kMegabyte);
  CHECK(CountOf(page, " src=") == 0);
  CHECK(CountOf(page, "<link") == 0);
  CHECK(CountOf(page, "@import") == 0);
  CHECK(CountOf(page, "url(") == 0);
  CHECK(CountOf(page, "fetch(") == 0);
  CHECK(CountOf(page, "XMLHttpRequest") == 0);
  // And the browser is told so.
  CHECK(CountOf(page, "default-src 'none'") == 1);
  // The licence of what it contains asks to be kept with it.
  CHECK(CountOf(page, "Permission is hereby granted") == 1);
  CHECK(CountOf(page, "{{") == 0);
}

TEST_CASE("the data of a report are the result, its links apart", "[html]") {
  for (const FoldMode fold : {FoldMode::kOff, FoldMode::kAuto}) {
    const Reported reported = ReportOn("v5e:4x4", fold);
    const json data = DataOf(reported.page);
    json result = json::parse(reported.json);
    REQUIRE(data["maps"].size() == 1);
    CHECK(data["maps"][0]["point"] == 0);
    CHECK(LinksOf(data["maps"][0]) == result["points"][0]["links"]);
    result["points"][0].erase("links");
    CHECK(data["result"] == result);
    CHECK(data["left_out"].empty());
  }
}

TEST_CASE("a report knows which links of a mesh are alive", "[html]") {
  const json data = DataOf(ReportOn("v5e:4x4", FoldMode::kOff).page);
  CHECK(data["slice"]["sizes"] == json({4, 4}));
  CHECK(data["slice"]["axes"] == json({"x", "y"}));
  // Bits x+ 1, x- 2, y+ 4, y- 8, from '0' on: the corner at the origin has x+
  // and y+, its neighbour x- too, an inner chip all, the last one x- and y-.
  const std::string live = data["slice"]["live"];
  REQUIRE(live.size() == 16);
  CHECK(live[0] == '0' + 5);
  CHECK(live[1] == '0' + 7);
  CHECK(live[5] == '0' + 15);
  CHECK(live[15] == '0' + 10);
}

TEST_CASE("the timeline of a report ends with the collective", "[html]") {
  for (const FoldMode fold : {FoldMode::kOff, FoldMode::kAuto}) {
    const Reported reported = ReportOn("v5p:4x4x4", fold);
    const json timeline = DataOf(reported.page)["timeline"];
    CHECK(timeline["chip"] == "0,0,0");
    double end = 0;
    for (const json& event : timeline["events"]) {
      end = std::max(end, event[3].get<double>() + event[4].get<double>());
      CHECK(event[0] < timeline["threads"].size());
      CHECK(event[1] < timeline["names"].size());
      CHECK(event[2] < timeline["kinds"].size());
    }
    const double time = json::parse(reported.json)["points"][0]["time_s"];
    CHECK(end == Approx(time * 1e6).epsilon(1e-5));
  }
}

TEST_CASE("names end no script and open no tag of a report", "[html]") {
  const std::string evil = "</script><img src=x onerror=alert(1)>&\"";
  const json result = {{"format", "podsim-result/1"},
                       {"points", {{{"name", evil}, {"makespan_s", 1}}}}};
  const std::string page =
      HtmlReport({.title = evil + "{{data}}", .result = result.dump()});
  const std::string plain =
      HtmlReport({.title = "t", .result = ResultOf(1, 1)});
  CHECK(CountOf(page, "</script>") == CountOf(plain, "</script>"));
  CHECK(CountOf(page, "<img") == 0);
  CHECK(CountOf(page,
                "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"
                "&amp;&quot;{{data}}") == 2);
  CHECK(DataOf(page)["result"] == result);
}

TEST_CASE("a report tells the parameters of a sweep apart", "[html]") {
  const json data =
      DataOf(HtmlReport({.title = "t", .result = ResultOf(3, 1)}));
  CHECK(data["parameters"] == json::parse(R"([{"ici.hop_latency_s": 0},
                                              {"ici.hop_latency_s": 1}])"));
  CHECK(data["point_parameters"] == json({0, 1, 0}));
  CHECK(data["result"]["points"][2]["request"] == "2x");
}

TEST_CASE("a report that would be too large says what is left out", "[html]") {
  // 2,000 points of over 1,000 bytes are over 2 MB.
  const std::string page =
      HtmlReport({.title = "t", .result = ResultOf(2000, 1000)});
  CHECK(page.size() < kMegabyte);
  const json data = DataOf(page);
  const std::size_t kept = data["result"]["points"].size();
  CHECK(kept > 400);
  CHECK(kept < 500);
  CHECK(data["left_out"] ==
        json({"the last " + std::to_string(2000 - kept) + " of 2000 points"}));
}

}  // namespace
}  // namespace podsim
