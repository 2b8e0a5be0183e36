#include "cli/app.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"
#include "cli/help_format.h"
#include "collective/collective.h"
#include "collective/lowering.h"
#include "topology/generation.h"

namespace podsim {
namespace {

constexpr char kDescription[] =
    "podsim: how long does a collective or a step take on a TPU slice, and how "
    "far is that from the best any schedule could do?";
constexpr char kFooter[] =
    "Exit status: 0 done; 1 the answer is no (violations, failed points, "
    "worse);\n2 usage or input. Quantities have units: 64MiB, 90GB/s, 1us.";

// What CLI11's own checks would say in other words.
CLI::Validator OneOf(std::vector<std::string> known) {
  return CLI::Validator(
      [known](const std::string& value) -> std::string {
        if (std::find(known.begin(), known.end(), value) != known.end()) {
          return "";
        }
        return "expected " + Join(known, " or ") + ", got \"" + value + "\"";
      },
      Join(known, "|"));
}

CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](const std::string& value) -> std::string {
        return value.empty() ? "must not be empty" : "";
      },
      "");
}

void AddSlice(CLI::App& app, CliOptions& options, bool required) {
  app.add_option("--slice", options.slice,
                 "v5p:4x4x8[:twisted|:mesh|:torus|:wrap=xz], 2*v5e:16x16, or a "
                 "topology file (.json)")
      ->required(required);
}

void AddPayload(CLI::App& app, CliOptions& options) {
  app.add_option("--bytes", options.bytes,
                 "payload S of MSCCL XML, which leaves it open: 64MiB")
      ->check(NotEmpty());
}

void AddHardware(CLI::App& app, CliOptions& options) {
  app.add_option("--set", options.sets,
                 "override a parameter: ici.bandwidth=200GB/s (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--fault", options.faults,
                 "link:1,2,3:x+ (the cable), ...:oneway, ...=50%, chip:1,2,3; "
                 "from a date on: ...@200us "
                 "(repeatable)")
      ->allow_extra_args(false);
  app.add_flag("--ideal", options.ideal,
               "no latencies, overheads and launch costs");
}

void AddProgress(CLI::App& app, CliOptions& options) {
  app.add_option("--progress", options.progress,
                 "a line on stderr; auto: if that is a terminal and the work "
                 "takes over a second")
      ->check(OneOf({"auto", "on", "off"}));
}

void AddSimulation(CLI::App& app, CliOptions& options) {
  AddHardware(app, options);
  app.add_option("--engine", options.engine,
                 "pod: simulate transfer by transfer; reference: the same by "
                 "stock SimGrid, a second opinion up to 60,000 transfers; "
                 "bound: lower bounds only")
      ->check(OneOf({"pod", "reference", "bound"}));
  app.add_flag("--force", options.force,
               "run the reference engine on more transfers than that");
  app.add_option("--network", options.network,
                 "how transfers share links. fluid (default): max-min fairly; "
                 "fifo: one at a time, first come first served, one-hop "
                 "transfers only; packet[:size=4KiB,cut_through=true]: packet "
                 "by packet on every link of the route; loggp: GOAL files")
      ->check(NotEmpty());
  app.add_option("--fold", options.fold,
                 "auto: simulate one chip per class where exact; on: also pad "
                 "the payload to equal shards; off: every chip")
      ->check(OneOf({"auto", "on", "off"}));
  app.add_option("--verify", options.verify,
                 "prove the schedule: auto (orbit if the program allows, else "
                 "replay), full (replay), off")
      ->check(OneOf({"auto", "full", "off"}));
  app.add_option("--max-memory", options.max_memory,
                 "refuse runs predicted to need more, e.g. 8GiB (default 80 % "
                 "of what is available)")
      ->check(NotEmpty());
  AddProgress(app, options);
  app.add_option("--timing", options.timing,
                 "write CPU seconds by phase and peak memory to this file")
      ->check(NotEmpty());
  app.add_option("--json", options.json,
                 "write the result as JSON to this file, or - for stdout")
      ->check(NotEmpty());
}

void AddTrace(CLI::App& app, CliOptions& options) {
  app.add_option("--trace", options.trace,
                 "write Chrome trace JSON, for ui.perfetto.dev")
      ->check(NotEmpty());
  app.add_option("--trace-chips", options.trace_chips,
                 "chips in the trace, e.g. 0,1,2 (default: all)")
      ->check(NotEmpty());
}

void AddHtml(CLI::App& app, CliOptions& options) {
  app.add_option("--html", options.html,
                 "write plots, link map, timeline and tables as HTML")
      ->check(NotEmpty());
}

void AddPlot(CLI::App& app, CliOptions& options) {
  app.add_option("--plot", options.plot,
                 "draw efficiency by size; auto: if stdout is a terminal")
      ->check(OneOf({"auto", "on", "off"}));
}

void AddTop(CLI::App& app, CliOptions& options) {
  app.add_option("--top", options.top,
                 "show this many of the busiest links, e.g. 10")
      ->check(NotEmpty());
}

void AddCollective(CLI::App& app, CliOptions& options, bool many) {
  std::vector<std::string> kinds;
  for (const CollectiveKind kind : AllCollectiveKinds()) {
    kinds.emplace_back(ToText(kind));
  }
  app.add_option("KIND", options.kind, Join(kinds, ", "))->required();
  const CLI::Option* bytes =
      app.add_option("--bytes", options.bytes,
                     many ? "payload S: 64MiB, 1KiB,1MiB or 1KiB..64MiB x4"
                          : "payload S (nccl-tests): 64MiB");
  app.add_option("--matrix", options.matrix,
                 "ragged-all-to-all, instead of --bytes: what each rank of a "
                 "group sends to each, a JSON file [[\"0B\", \"1KiB\"], ..]")
      ->check(NotEmpty());
  app.callback([bytes, &options] {
    // A ragged-all-to-all is told what it may have instead.
    const bool ragged = options.kind == ToText(CollectiveKind::kRaggedAllToAll);
    if (bytes->count() == 0 && !ragged) throw CLI::RequiredError("--bytes");
  });
  app.add_option("--distribution", options.distribution,
                 "ragged-all-to-all: how --bytes, the sum, is spread: equal, "
                 "uniform:seed=7, zipf:skew=1.1,seed=7")
      ->check(NotEmpty());
  AddSlice(app, options, /*required=*/true);
  app.add_option("--axes", options.axes,
                 "groups: sub-tori of these axes, e.g. x,y")
      ->check(NotEmpty());
  app.add_option("--groups", options.groups,
                 "groups as lists of chip ids, in rank order, all at once: a "
                 "JSON file [[0, 1], [2, 3]]")
      ->check(NotEmpty());
  app.add_option("--root", options.root,
                 "root chip of broadcast, reduce, gather, scatter (default: "
                 "rank 0)")
      ->check(NotEmpty());
  app.add_option("--shift", options.shift,
                 "collective-permute: AXIS:PLACES, every chip sends that many "
                 "places on, e.g. x:1, y:-2")
      ->check(NotEmpty());
  app.add_option("--pairs", options.pairs,
                 "collective-permute: who sends to whom, a JSON file "
                 "[[0, 1], [1, 2]]")
      ->check(NotEmpty());
}

void AddLowering(CLI::App& app, CliOptions& options, const char* help) {
  app.add_option("--lowering", options.lowerings, help)
      ->allow_extra_args(false);
}

CLI::Option* AddJsonFlag(CLI::App& app, CliOptions& options) {
  return app
      .add_flag("--json{-}", options.json,
                "JSON to stdout instead of the table")
      ->check(CLI::Validator(
          [](const std::string& value) -> std::string {
            return value == "-" ? ""
                                : "takes no value, got \"" + value +
                                      "\"; the JSON goes to stdout";
          },
          ""));
}

void AddSweep(CLI::App& app, CliOptions& options) {
  CLI::App* sweep = app.add_subcommand(
      "sweep", "time every point of a product of lists, as CSV or JSON");
  sweep->add_option("FILE", options.file, "podsim-sweep/1")
      ->required()
      ->check(NotEmpty());
  sweep
      ->add_option("-o,--output", options.output,
                   "file to write, .csv or .json (default: CSV to stdout)")
      ->check(NotEmpty());
  sweep->add_option("--jobs", options.jobs,
                    "processes at once (default 1); same output");
  sweep
      ->add_option("--max-memory", options.max_memory,
                   "refuse points predicted to need more, e.g. 8GiB")
      ->check(NotEmpty());
  sweep->add_flag("--resume", options.resume,
                  "run only what OUT.journal does not have");
  sweep
      ->add_option("--shard", options.shard,
                   "K/N: only part K of N, for `podsim merge`")
      ->check(NotEmpty());
  sweep
      ->add_option("--only", options.only,
                   "points with such a word, as 'slice=v5p:*' (repeatable)")
      ->allow_extra_args(false)
      ->check(NotEmpty());
  sweep
      ->add_option("--except", options.except,
                   "no point with such a word (repeatable)")
      ->allow_extra_args(false)
      ->check(NotEmpty());
  AddProgress(*sweep, options);
  AddHtml(*sweep, options);
  AddPlot(*sweep, options);
}

void AddMerge(CLI::App& app, CliOptions& options) {
  CLI::App* merge = app.add_subcommand(
      "merge", "join the shards of a sweep; fails if a point is missing");
  merge
      ->add_option("SHARD", options.files,
                   "what `podsim sweep --shard K/N` wrote, for every K")
      ->required()
      ->check(NotEmpty());
  merge
      ->add_option("-o,--output", options.output,
                   "file to write (default: to stdout)")
      ->check(NotEmpty());
}

void AddCheck(CLI::App& app, CliOptions& options) {
  CLI::App* check = app.add_subcommand(
      "check", "compare results with a baseline (exit 1: worse)");
  check
      ->add_option("RESULTS", options.file,
                   "JSON (podsim-result/1) or CSV, as a sweep writes it")
      ->required()
      ->check(NotEmpty());
  check
      ->add_option("BASELINE", options.baseline,
                   "the same, recorded before, or a log of nccl-tests or "
                   "rccl-tests")
      ->required()
      ->check(NotEmpty());
  check->add_option("--tolerance", options.tolerance,
                    "how much more time is no regression (default 1%)");
  check->add_flag("--either-way", options.either_way,
                  "less time beyond the tolerance is listed and fails too");
  check
      ->add_option("--baseline-collective", options.baseline_collective,
                   "what a log measured, if it does not say: all-gather")
      ->check(NotEmpty());
  check
      ->add_option("--baseline-ranks", options.baseline_ranks,
                   "how many ranks a log is of, if it does not say")
      ->check(NotEmpty());
  check
      ->add_option("--baseline-time", options.baseline_time,
                   "which columns of a log (default out-of-place)")
      ->check(OneOf({"out-of-place", "in-place"}));
}

void AddLowerings(CLI::App& app, CliOptions& options) {
  CLI::App* lowerings = app.add_subcommand(
      "lowerings", "the lowerings, or what auto chooses on a slice");
  AddJsonFlag(*lowerings, options);
  lowerings->add_flag("--choose", options.choose,
                      "what auto takes on --slice, payload by payload, how far "
                      "from the bound it is, and what comes second");
  AddSlice(*lowerings, options, /*required=*/false);
  lowerings
      ->add_option("--collective", options.kind,
                   "of --choose: one kind (default: all-reduce, all-gather, "
                   "reduce-scatter, all-to-all and broadcast)")
      ->check(NotEmpty());
  lowerings
      ->add_option("--bytes", options.bytes,
                   "of --choose: payloads S (default: 1KiB..64MiB x4)")
      ->check(NotEmpty());
  AddHardware(*lowerings, options);
}

void AddStepMode(CLI::App& app, CliOptions& options) {
  app.add_option("--step-mode", options.step_mode,
                 "of steps. engine (default): the transfers of all collectives "
                 "on real links; abstract: each collective one transfer that "
                 "has its axes for itself")
      ->check(OneOf({"engine", "abstract"}));
}

// What is changed of a step.
void AddStepEdits(CLI::App& app, CliOptions& options) {
  app.add_option("--async", options.async_mode,
                 "of steps. auto (default): as the file says; off: the core "
                 "waits for every collective; all: until its result is needed")
      ->check(OneOf({"auto", "off", "all"}));
  app.add_option("--op-times", options.op_times,
                 "of steps: a CSV file of name,seconds, what each compute "
                 "takes, such as from a profile")
      ->check(NotEmpty());
}

// What the text of an HLO module does not say.
void AddHlo(CLI::App& app, CliOptions& options) {
  app.add_option("--device-assignment", options.device_assignment,
                 "of HLO files: the chips of its devices: iota (default), "
                 "mesh_utils:SHAPE as JAX lays a mesh, such as "
                 "mesh_utils:16x8, or a podsim-device-assignment/1 file")
      ->check(NotEmpty());
  app.add_option("--trip-count", options.trip_counts,
                 "of HLO files: N for loops whose trip count the text does "
                 "not tell, or LOOP=N for one (repeatable)")
      ->check(NotEmpty());
  app.add_option("--compute-scale", options.compute_scale,
                 "of HLO files and --astra: what computes take of their "
                 "time, such as 130%")
      ->check(NotEmpty());
}

void AddAstra(CLI::App& app, CliOptions& options) {
  app.add_option("--astra", options.astra,
                 "NETWORK.yml SYSTEM.json of ASTRA-sim: FILE is a text "
                 "workload for them")
      ->expected(2)
      ->check(NotEmpty());
}

void AddProcessGroups(CLI::App& app, CliOptions& options) {
  app.add_option("--process-groups", options.process_groups,
                 "of Chakra traces: a JSON file of the ranks of each pg_name "
                 "that they do not list")
      ->check(NotEmpty());
}

void AddCompletions(CLI::App& app, CliOptions& options) {
  CLI::App* completions = app.add_subcommand(
      "completions", "print a completion script for bash or zsh");
  completions->add_option("SHELL", options.shell)
      ->required()
      ->check(OneOf({"bash", "zsh"}));
}

}  // namespace

void AddCommands(CLI::App& app, CliOptions& options) {
  app.description(kDescription);
  app.footer(kFooter);
  app.set_version_flag("--version", "", "print the version and commit");
  app.set_help_all_flag("--help-all", "explain every option");
  app.require_subcommand(1);

  CLI::App* simulate = app.add_subcommand(
      "simulate", "time a workload or a schedule, transfer by transfer");
  simulate
      ->add_option("FILE", options.file,
                   "workload or schedule (.json), HLO text (.hlo, .txt), MSCCL "
                   "XML (.xml), Chakra traces (PREFIX.0.et or .json), GOAL "
                   "(.goal), --astra")
      ->required()
      ->check(NotEmpty());
  AddSlice(*simulate, options, /*required=*/false);
  AddPayload(*simulate, options);
  AddLowering(*simulate, options, "KIND=NAME, for all of a kind (repeatable)");
  AddStepMode(*simulate, options);
  AddStepEdits(*simulate, options);
  AddAstra(*simulate, options);
  AddHlo(*simulate, options);
  AddProcessGroups(*simulate, options);
  AddSimulation(*simulate, options);
  AddTrace(*simulate, options);
  AddHtml(*simulate, options);
  AddTop(*simulate, options);

  CLI::App* explain = app.add_subcommand(
      "explain", "what a step would take if one thing were ideal");
  explain
      ->add_option("FILE", options.file,
                   "podsim-workload/1, or HLO text (.hlo, .txt)")
      ->required()
      ->check(NotEmpty());
  AddSlice(*explain, options, /*required=*/false);
  AddLowering(*explain, options, "KIND=NAME, for all of a kind (repeatable)");
  AddStepEdits(*explain, options);
  AddAstra(*explain, options);
  AddHlo(*explain, options);
  AddProcessGroups(*explain, options);
  AddSimulation(*explain, options);

  CLI::App* collective =
      app.add_subcommand("collective", "time one collective next to its bound");
  AddCollective(*collective, options, /*many=*/true);
  AddLowering(*collective, options, "auto, all, or NAME[:key=value,...]");
  AddSimulation(*collective, options);
  collective
      ->add_option("--csv", options.csv,
                   "write CSV to this file, or - for "
                   "stdout")
      ->check(NotEmpty());
  AddTrace(*collective, options);
  AddHtml(*collective, options);
  AddTop(*collective, options);

  CLI::App* compare = app.add_subcommand(
      "compare", "every lowering that applies, fastest first");
  AddCollective(*compare, options, /*many=*/true);
  AddSimulation(*compare, options);
  compare
      ->add_option("--csv", options.csv,
                   "write the result as CSV to this file, or - for stdout")
      ->check(NotEmpty());
  AddHtml(*compare, options);
  AddPlot(*compare, options);
  AddTop(*compare, options);

  CLI::App* lower =
      app.add_subcommand("lower", "write the schedule of a collective");
  AddCollective(*lower, options, /*many=*/false);
  AddLowering(*lower, options, "auto (default) or NAME[:key=value,...]");
  AddHardware(*lower, options);
  lower
      ->add_option("--max-memory", options.max_memory,
                   "refuse runs predicted to need more, e.g. 8GiB")
      ->check(NotEmpty());
  lower
      ->add_option("-o,--output", options.output,
                   "schedule to write (.json), MSCCL XML (.xml), GOAL (.goal), "
                   "Chakra traces (.et: PREFIX.RANK.et); - for stdout")
      ->required()
      ->check(NotEmpty());

  CLI::App* verify = app.add_subcommand(
      "verify", "prove that a schedule is right (exit 1: violations)");
  verify
      ->add_option("FILE", options.file,
                   "podsim-schedule/1 or MSCCL XML (.xml)")
      ->required()
      ->check(NotEmpty());
  AddSlice(*verify, options, /*required=*/false);
  AddPayload(*verify, options);
  verify->add_option("--fault", options.faults, "as in simulate")
      ->allow_extra_args(false);

  AddSweep(app, options);
  AddMerge(app, options);
  AddCheck(app, options);

  CLI::App* topology = app.add_subcommand(
      "topology", "chips, links, distances and bounds of a slice");
  topology->add_option("SLICE", options.slice, "as --slice, or a topology file")
      ->required();
  AddHardware(*topology, options);
  CLI::Option* json = AddJsonFlag(*topology, options);
  topology->add_flag("--dot", options.dot, "Graphviz instead of the table")
      ->excludes(json);

  AddLowerings(app, options);

  CLI::App* generations = app.add_subcommand(
      "generations", "the numbers of each TPU generation, with sources");
  AddJsonFlag(*generations, options);

  AddCompletions(app, options);
  FormatHelp(app);
}

}  // namespace podsim
