#ifndef PODSIM_ENGINE_LOGGOPS_PARAMETERS_H_
#define PODSIM_ENGINE_LOGGOPS_PARAMETERS_H_

#include <string>
#include <utility>
#include <vector>

#include "engine/loggops.h"

namespace podsim {

// "loggp.L=2500ns", "loggp.S=65535B": one --set of the LogGOPS player; G and O
// are durations per byte. Throws InputError{"--set ..", ..}.
void SetLoggopsParameter(const std::string& assignment,
                         LoggopsParameters& parameters);

// {"loggp.L", "2.5us"}, .., as the user would write them.
std::vector<std::pair<std::string, std::string>> LoggopsTexts(
    const LoggopsParameters& parameters);

// {"loggp.L_s", 2.5e-6}, .., {"loggp.G_s_per_byte", 6e-9}: all but S.
std::vector<std::pair<std::string, double>> LoggopsSeconds(
    const LoggopsParameters& parameters);

}  // namespace podsim

#endif  // PODSIM_ENGINE_LOGGOPS_PARAMETERS_H_
