#include "report/html.h"

#include <string_view>

#include "base/check.h"
#include "report/html_assets.h"
#include "report/version.h"

namespace podsim {
namespace {

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string_view FindHtmlAsset(std::string_view name) {
  for (const EmbeddedFile& asset : HtmlAssets()) {
    if (asset.name == name) return asset.text;
  }
  CHECK(false) << name;
  return {};
}

// What stands for {{name}} in report.html.
std::string TextOf(std::string_view name, const HtmlContent& content) {
  if (name == "title") return EscapeHtml(content.title);
  if (name == "version") return EscapeHtml(kVersion);
  if (name == "data") return HtmlData(content);
  return std::string(FindHtmlAsset(name));
}

}  // namespace

std::string HtmlReport(const HtmlContent& content) {
  std::string_view rest = FindHtmlAsset("report.html");
  std::string page;
  while (true) {
    const std::size_t open = rest.find("{{");
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find("}}", open);
    CHECK(close != std::string_view::npos);
    page += rest.substr(0, open);
    page += TextOf(rest.substr(open + 2, close - open - 2), content);
    rest = rest.substr(close + 2);
  }
  page += rest;
  return page;
}

}  // namespace podsim
