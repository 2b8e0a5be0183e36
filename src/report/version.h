#ifndef PODSIM_REPORT_VERSION_H_
#define PODSIM_REPORT_VERSION_H_

namespace podsim {

// Version of the program and of its model: results of equal versions compare.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace podsim

#endif  // PODSIM_REPORT_VERSION_H_
