# cmake -DSOURCE=FOLDER -DOUTPUT=commit.h -P WriteCommit.cmake: kCommit as git describes
# it, "unknown" outside git. The file is touched only if it changes.
set(commit unknown)
if(EXISTS "${SOURCE}/.git")
  execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty --tags
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(commit "${described}")
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
#ifndef PODSIM_CLI_COMMIT_H_
#define PODSIM_CLI_COMMIT_H_

namespace podsim {

inline constexpr char kCommit[] = "@commit@";

}  // namespace podsim

#endif  // PODSIM_CLI_COMMIT_H_
]])
