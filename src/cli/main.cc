#include "cli/cli.h"

int main(int argc, char** argv) { return podsim::RunCli(argc, argv); }
