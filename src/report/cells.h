#ifndef PODSIM_REPORT_CELLS_H_
#define PODSIM_REPORT_CELLS_H_

#include <optional>
#include <string>

#include "sim/result.h"
#include "topology/slice.h"

namespace podsim {

// Cells of tables; what is not known is "-".

std::string Micros(const std::optional<double>& seconds);  // "12.34"
std::string GigaBytes(const std::optional<double>& rate);  // of 1e9 bytes
std::string Percent(const std::optional<double>& share);   // "98.3%"
std::string VerdictText(const Verdict& verdict);           // "orbit", "no"

// What the numbers rest on, in one line.
std::string Heading(const Slice& slice);
// What another network than fluid does differently, in one line; else "".
std::string NetworkNote(const std::string& network);

}  // namespace podsim

#endif  // PODSIM_REPORT_CELLS_H_
