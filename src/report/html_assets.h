#ifndef PODSIM_REPORT_HTML_ASSETS_H_
#define PODSIM_REPORT_HTML_ASSETS_H_

#include <span>

#include "base/embedded_file.h"

namespace podsim {

// The files of src/report/html/, by their names without folders.
std::span<const EmbeddedFile> HtmlAssets();

}  // namespace podsim

#endif  // PODSIM_REPORT_HTML_ASSETS_H_
