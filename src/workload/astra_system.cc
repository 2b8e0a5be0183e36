// Reader of ASTRA-sim's system files, and the lowerings that they ask for.
#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "workload/astra.h"

namespace podsim {
namespace {

constexpr int kMostSplits = 1024;  // as batches of a lowering
constexpr double kMostNs = 1e12;

struct KindKey {
  const char* key;
  CollectiveKind kind;
};
constexpr KindKey kImplementations[] = {
    {"all-reduce-implementation", CollectiveKind::kAllReduce},
    {"all-gather-implementation", CollectiveKind::kAllGather},
    {"reduce-scatter-implementation", CollectiveKind::kReduceScatter},
    {"all-to-all-implementation", CollectiveKind::kAllToAll}};

const char* KeyOf(CollectiveKind kind) {
  for (const KindKey& entry : kImplementations) {
    if (entry.kind == kind) return entry.key;
  }
  return "";
}

// Numbers and words that podsim has nothing for; read, so that their types are
// checked, and named in a warning.
constexpr const char* kNumbersWithoutEffect[] = {"active-chunks-per-dimension",
                                                 "local-mem-bw",
                                                 "boost-mode",
                                                 "roofline-enabled",
                                                 "peak-perf",
                                                 "local-reduction-delay",
                                                 "replay-only",
                                                 "L",
                                                 "o",
                                                 "g",
                                                 "G",
                                                 "model-shared-bus",
                                                 "trace-enabled",
                                                 "track-local-mem"};
constexpr const char* kWordsWithoutEffect[] = {"scheduling-policy",
                                               "local-mem-trace-filename"};

template <std::size_t size>
bool IsIn(const char* const (&list)[size], const std::string& key) {
  return std::ranges::find(list, key) != std::end(list);
}

std::vector<std::string> KnownKeys() {
  std::vector<std::string> keys = {"endpoint-delay", "preferred-dataset-splits",
                                   "collective-optimization"};
  for (const KindKey& entry : kImplementations) keys.emplace_back(entry.key);
  for (const char* key : kNumbersWithoutEffect) keys.emplace_back(key);
  for (const char* key : kWordsWithoutEffect) keys.emplace_back(key);
  return keys;
}

std::vector<AstraSystem::Implementation> ReadImplementations(
    const JsonValue& list) {
  std::vector<AstraSystem::Implementation> implementations;
  for (const JsonValue& entry : list.Elements()) {
    implementations.push_back({entry.AsString(), entry.where()});
  }
  if (implementations.empty()) {
    list.Fail(
        "expected an entry per dimension of the network, such as "
        "[\"ring\", \"ring\"], found []");
  }
  return implementations;
}

// Flags are 0 or 1, or true or false.
void RequireNumber(const JsonValue& value) {
  if (value.is_number()) {
    value.AsNumber();
  } else {
    value.AsBool();
  }
}

void ReadKey(const std::string& key, const JsonValue& value,
             AstraSystem& system, std::vector<std::string>& without_effect) {
  for (const KindKey& entry : kImplementations) {
    if (key != entry.key) continue;
    system.implementations[entry.kind] = ReadImplementations(value);
    system.where[entry.kind] = value.where();
    return;
  }
  if (key == "preferred-dataset-splits") {
    system.splits = static_cast<int>(value.AsInteger(1, kMostSplits));
    system.splits_where = value.where();
  } else if (key == "endpoint-delay") {
    system.endpoint_delay_ns = value.AsNumber();
    system.endpoint_delay_where = value.where();
    if (!(system.endpoint_delay_ns >= 0 &&
          system.endpoint_delay_ns <= kMostNs)) {
      value.Fail("expected ns from 0 to 1e12, found " + value.Excerpt());
    }
  } else if (key == "collective-optimization") {
    const std::string& word = value.AsString();
    if (word != "baseline" && word != "localBWAware") {
      value.Fail("expected baseline or localBWAware, found " + value.Excerpt());
    }
    system.baseline = word == "baseline";
  } else if (IsIn(kNumbersWithoutEffect, key)) {
    RequireNumber(value);
    without_effect.push_back(key);
  } else if (IsIn(kWordsWithoutEffect, key)) {
    value.AsString();
    without_effect.push_back(key);
  } else if (key.ends_with("-implementation-custom")) {
    value.Fail(
        "collectives of your own (.et) are not read; remove the key "
        "and name an implementation such as ring");
  } else {
    const auto similar = Similar(key, KnownKeys());
    system.warnings.push_back(
        value.where() + ": unknown key, ignored" +
        (similar ? "; did you mean \"" + *similar + "\"?" : ""));
  }
}

// "direct4": a word and how many messages are in flight.
struct Algorithm {
  std::string word;
  int window = 0;
};

Algorithm AlgorithmOf(const AstraSystem::Implementation& implementation) {
  const std::string& text = implementation.text;
  const std::size_t end = text.find_last_not_of("0123456789") + 1;
  Algorithm algorithm{.word = text.substr(0, end), .window = 0};
  static const std::vector<std::string> kKnown = {"ring",
                                                  "oneRing",
                                                  "direct",
                                                  "oneDirect",
                                                  "halvingDoubling",
                                                  "oneHalvingDoubling",
                                                  "doubleBinaryTree"};
  const bool direct =
      algorithm.word == "direct" || algorithm.word == "oneDirect";
  if (std::ranges::find(kKnown, algorithm.word) == kKnown.end() ||
      (end < text.size() && !direct)) {
    const auto similar = Similar(algorithm.word, kKnown);
    throw InputError(implementation.where,
                     "expected one of " + Join(kKnown, ", ") +
                         ", or direct4 for 4 messages in flight, found \"" +
                         Shortened(text, 60) + "\"" +
                         (similar ? "; did you mean " + *similar + "?" : ""));
  }
  if (end == text.size()) return algorithm;
  const char* last = text.data() + text.size();
  const auto [at, error] =
      std::from_chars(text.data() + end, last, algorithm.window);
  if (error != std::errc() || at != last || algorithm.window < 1 ||
      algorithm.window > kMostSplits) {
    throw InputError(implementation.where,
                     "expected 1 to 1024 messages in flight, found \"" +
                         Shortened(text, 60) + "\"");
  }
  return algorithm;
}

// Empty: there is none.
std::string SpecOf(const Algorithm& algorithm, CollectiveKind kind,
                   bool one_axis, int splits) {
  const std::string& word = algorithm.word;
  const bool flat = one_axis || word.starts_with("one");
  const bool exchange = kind == CollectiveKind::kAllToAll;
  if (word == "ring" || (word == "oneRing" && one_axis)) {
    if (exchange) return one_axis ? "neighbor" : "staged";
    return "bucket:axis_primitive=ring,batches=" + std::to_string(splits);
  }
  if (word == "direct" || word == "oneDirect") {
    if (flat) {
      return algorithm.window == 0
                 ? "direct"
                 : "direct:window=" + std::to_string(algorithm.window);
    }
    return exchange && algorithm.window == 0 ? "staged" : "";
  }
  if (word.ends_with("alvingDoubling")) {
    return flat && !exchange ? "halving-doubling" : "";
  }
  return word == "doubleBinaryTree" && one_axis &&
                 kind == CollectiveKind::kAllReduce
             ? "double-binary-tree"
             : "";
}

}  // namespace

AstraSystem ReadAstraSystem(const JsonValue& json) {
  AstraSystem system;
  system.file = json.file();
  std::vector<std::string> without_effect;
  for (const std::string& key : json.Keys()) {
    ReadKey(key, json.Get(key), system, without_effect);
  }
  if (!without_effect.empty()) {
    system.warnings.push_back(
        system.file + ": not modelled, ignored: " + Join(without_effect, ", "));
  }
  return system;
}

AstraSystem::Implementation AstraLowering(const AstraSystem& system,
                                          CollectiveKind kind,
                                          const std::vector<int>& axes,
                                          std::size_t dimensions) {
  const std::string remedy =
      "; use another, or --lowering " + std::string(ToText(kind)) + "=auto";
  const auto found = system.implementations.find(kind);
  if (found == system.implementations.end()) {
    throw InputError(system.file, "the key \"" + std::string(KeyOf(kind)) +
                                      "\" is missing, which the workload "
                                      "needs; add it, or --lowering " +
                                      ToText(kind) + "=auto");
  }
  const auto& list = found->second;
  if (list.size() != dimensions) {
    throw InputError(system.where.at(kind),
                     "expected " + std::to_string(dimensions) +
                         " entries, one per dimension of the network, found " +
                         std::to_string(list.size()));
  }
  for (const AstraSystem::Implementation& entry : list) AlgorithmOf(entry);
  const AstraSystem::Implementation& first =
      list[axes.empty() ? 0 : static_cast<std::size_t>(axes[0])];
  for (const int axis : axes) {
    const AstraSystem::Implementation& other =
        list[static_cast<std::size_t>(axis)];
    if (other.text == first.text) continue;
    throw InputError(other.where, "\"" + other.text + "\" after \"" +
                                      first.text +
                                      "\" is not modelled: podsim runs one "
                                      "implementation on all dimensions" +
                                      remedy);
  }
  const std::string spec =
      SpecOf(AlgorithmOf(first), kind, axes.size() <= 1, system.splits);
  if (spec.empty()) {
    throw InputError(first.where,
                     "\"" + first.text + "\" is not modelled for " +
                         ToText(kind) + " on " + std::to_string(axes.size()) +
                         (axes.size() == 1 ? " dimension" : " dimensions") +
                         remedy);
  }
  return {spec, first.where};
}

}  // namespace podsim
