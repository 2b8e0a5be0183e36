#ifndef PODSIM_WORKLOAD_STEP_EDITS_H_
#define PODSIM_WORKLOAD_STEP_EDITS_H_

#include <string>
#include <string_view>
#include <vector>

#include "step/step_graph.h"

namespace podsim {

// What the command line changes of a step that has been read.

// Every collective sync: the core waits for it where it is issued.
void MakeAllSync(StepGraph& graph);

// Every sync collective async: waited for by the first op of its list that
// needs its result, else at the end of the list.
void MakeAllAsync(StepGraph& graph);

// Durations of computes and copies from CSV text, "name,seconds" (per
// execution); `file` names it in messages. What is no compute of the step is a
// warning. Throws InputError at the line of what is no number or stands twice,
// and if no name fits.
void SetOpTimes(std::string_view csv, const std::string& file, StepGraph& graph,
                std::vector<std::string>& warnings);

}  // namespace podsim

#endif  // PODSIM_WORKLOAD_STEP_EDITS_H_
