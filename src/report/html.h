#ifndef PODSIM_REPORT_HTML_H_
#define PODSIM_REPORT_HTML_H_

#include <string>

#include "sim/run_record.h"
#include "topology/slice.h"

namespace podsim {

// Most bytes of a report that are not the page itself.
inline constexpr std::size_t kMostHtmlData = 880'000;

// What a report shows.
struct HtmlContent {
  std::string title;   // text, not HTML
  std::string result;  // podsim-result/1
  // Of the map of links; nullptr: none, as in a sweep.
  const Slice* slice = nullptr;
  // Of the last point, for the timeline of one chip; nullptr: none.
  const RunRecord* record = nullptr;
};

// One HTML page that needs no other file: plots, map, timeline and tables drawn
// by its own scripts from HtmlData. Below 1 MB.
std::string HtmlReport(const HtmlContent& content);

// {"result": the podsim-result/1, "parameters", "point_parameters", "maps",
// "slice", "timeline", "left_out"} on one line, without "<". Of a result
// - parameters of points are told apart: `parameters` lists the different ones,
//   `point_parameters` has the index by point;
// - links of points are in maps: {"point": index, "links": [[link, bytes,
//   busy_s, utilisation, links], ..]};
// - what does not fit, the last points and maps and the small ones of a step's
//   ops, is left out, and `left_out` says so.
std::string HtmlData(const HtmlContent& content);

}  // namespace podsim

#endif  // PODSIM_REPORT_HTML_H_
