#ifndef PODSIM_CLI_CLI_H_
#define PODSIM_CLI_CLI_H_

namespace podsim {

// The whole program: parses, runs, prints. Returns the exit status: 0 done, 1
// the answer is no, 2 usage or input error (one line on stderr).
int RunCli(int argc, char** argv);

}  // namespace podsim

#endif  // PODSIM_CLI_CLI_H_
