#ifndef PODSIM_REPORT_HTML_ASSETS_H_
#define PODSIM_REPORT_HTML_ASSETS_H_

#include <span>
#include <string_view>

namespace podsim {

// One file of src/report/html/, compiled into the binary.
struct HtmlAsset {
  std::string_view file;  // "report.js"
  std::string_view text;
};

std::span<const HtmlAsset> HtmlAssets();

}  // namespace podsim

#endif  // PODSIM_REPORT_HTML_ASSETS_H_
