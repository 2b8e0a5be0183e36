#include "hlo/opcodes.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace podsim {
namespace {

// Sorted by opcode.
constexpr std::array kRules = {
    HloOpcodeRule{"abs", 1, 1},
    HloOpcodeRule{"acos", 1, 1},
    HloOpcodeRule{"acosh", 1, 1},
    HloOpcodeRule{"add", 2, 2},
    HloOpcodeRule{"add-dependency", 2, 2},
    HloOpcodeRule{"after-all", 0, -1},
    HloOpcodeRule{"all-gather", 1, -1, "dimensions"},
    HloOpcodeRule{"all-gather-done", 1, 1},
    HloOpcodeRule{"all-gather-start", 1, -1, "dimensions"},
    HloOpcodeRule{"all-reduce", 1, -1, "to_apply"},
    HloOpcodeRule{"all-reduce-done", 1, 1},
    HloOpcodeRule{"all-reduce-start", 1, -1, "to_apply"},
    HloOpcodeRule{"all-to-all", 1, -1},
    HloOpcodeRule{"and", 2, 2},
    HloOpcodeRule{"asin", 1, 1},
    HloOpcodeRule{"asinh", 1, 1},
    HloOpcodeRule{"async-done", 1, 1},
    HloOpcodeRule{"async-start", 0, -1, "calls"},
    HloOpcodeRule{"async-update", 1, 1},
    HloOpcodeRule{"atan2", 2, 2},
    HloOpcodeRule{"atanh", 1, 1},
    HloOpcodeRule{"batch-norm-grad", 5, 5},
    HloOpcodeRule{"batch-norm-inference", 5, 5},
    HloOpcodeRule{"batch-norm-training", 3, 3},
    HloOpcodeRule{"bitcast", 1, 1},
    HloOpcodeRule{"bitcast-convert", 1, 1},
    HloOpcodeRule{"broadcast", 1, 1},
    HloOpcodeRule{"call", 0, -1, "to_apply"},
    HloOpcodeRule{"cbrt", 1, 1},
    HloOpcodeRule{"ceil", 1, 1},
    HloOpcodeRule{"cholesky", 1, 1},
    HloOpcodeRule{"clamp", 3, 3},
    HloOpcodeRule{"collective-broadcast", 1, -1},
    HloOpcodeRule{"collective-permute", 1, -1, "source_target_pairs"},
    HloOpcodeRule{"collective-permute-done", 1, 1},
    HloOpcodeRule{"collective-permute-start", 1, -1, "source_target_pairs"},
    HloOpcodeRule{"compare", 2, 2, "direction"},
    HloOpcodeRule{"complex", 2, 2},
    HloOpcodeRule{"concatenate", 1, -1},
    HloOpcodeRule{"conditional", 2, -1},
    HloOpcodeRule{"constant", 0, 0},
    HloOpcodeRule{"convert", 1, 1},
    HloOpcodeRule{"convolution", 2, 2, "dim_labels"},
    HloOpcodeRule{"copy", 1, 1},
    HloOpcodeRule{"copy-done", 1, 1},
    HloOpcodeRule{"copy-start", 1, 1},
    HloOpcodeRule{"cosh", 1, 1},
    HloOpcodeRule{"cosine", 1, 1},
    HloOpcodeRule{"count-leading-zeros", 1, 1},
    HloOpcodeRule{"custom-call", 0, -1, "custom_call_target"},
    HloOpcodeRule{"divide", 2, 2},
    HloOpcodeRule{"domain", 1, 1},
    HloOpcodeRule{"dot", 2, 4},
    HloOpcodeRule{"dynamic-reshape", 1, -1},
    HloOpcodeRule{"dynamic-slice", 1, -1},
    HloOpcodeRule{"dynamic-update-slice", 2, -1},
    HloOpcodeRule{"erf", 1, 1},
    HloOpcodeRule{"exponential", 1, 1},
    HloOpcodeRule{"exponential-minus-one", 1, 1},
    HloOpcodeRule{"fft", 1, 1},
    HloOpcodeRule{"floor", 1, 1},
    HloOpcodeRule{"fusion", 0, -1, "calls"},
    HloOpcodeRule{"gather", 2, 2},
    HloOpcodeRule{"get-dimension-size", 1, 1},
    HloOpcodeRule{"get-tuple-element", 1, 1, "index"},
    HloOpcodeRule{"imag", 1, 1},
    HloOpcodeRule{"infeed", 0, 1},
    HloOpcodeRule{"iota", 0, 0},
    HloOpcodeRule{"is-finite", 1, 1},
    HloOpcodeRule{"log", 1, 1},
    HloOpcodeRule{"log-plus-one", 1, 1},
    HloOpcodeRule{"logistic", 1, 1},
    HloOpcodeRule{"map", 0, -1, "to_apply"},
    HloOpcodeRule{"maximum", 2, 2},
    HloOpcodeRule{"minimum", 2, 2},
    HloOpcodeRule{"multiply", 2, 2},
    HloOpcodeRule{"negate", 1, 1},
    HloOpcodeRule{"not", 1, 1},
    HloOpcodeRule{"opt-barrier", 1, 1},
    HloOpcodeRule{"or", 2, 2},
    HloOpcodeRule{"outfeed", 1, 2},
    HloOpcodeRule{"pad", 2, 2},
    HloOpcodeRule{"parameter", 0, 0},
    HloOpcodeRule{"partition-id", 0, 0},
    HloOpcodeRule{"popcnt", 1, 1},
    HloOpcodeRule{"power", 2, 2},
    HloOpcodeRule{"ragged-all-to-all", 6, 6},
    HloOpcodeRule{"ragged-dot", 3, 3},
    HloOpcodeRule{"real", 1, 1},
    HloOpcodeRule{"recv", 1, 1},
    HloOpcodeRule{"recv-done", 1, 1},
    HloOpcodeRule{"reduce", 2, -1, "to_apply"},
    HloOpcodeRule{"reduce-precision", 1, 1},
    HloOpcodeRule{"reduce-scatter", 1, -1, "dimensions", "to_apply"},
    HloOpcodeRule{"reduce-window", 2, -1, "to_apply"},
    HloOpcodeRule{"remainder", 2, 2},
    HloOpcodeRule{"replica-id", 0, 0},
    HloOpcodeRule{"reshape", 1, 1},
    HloOpcodeRule{"reverse", 1, 1},
    HloOpcodeRule{"rng", 0, -1},
    HloOpcodeRule{"rng-bit-generator", 1, 1},
    HloOpcodeRule{"rng-get-and-update-state", 0, 0},
    HloOpcodeRule{"round-nearest-afz", 1, 1},
    HloOpcodeRule{"round-nearest-even", 1, 1},
    HloOpcodeRule{"rsqrt", 1, 1},
    HloOpcodeRule{"scaled-dot", 2, 4},
    HloOpcodeRule{"scan", 0, -1},
    HloOpcodeRule{"scatter", 3, -1, "to_apply"},
    HloOpcodeRule{"select", 3, 3},
    HloOpcodeRule{"select-and-scatter", 3, 3},
    HloOpcodeRule{"send", 2, 2},
    HloOpcodeRule{"send-done", 1, 1},
    HloOpcodeRule{"set-dimension-size", 2, 2},
    HloOpcodeRule{"shift-left", 2, 2},
    HloOpcodeRule{"shift-right-arithmetic", 2, 2},
    HloOpcodeRule{"shift-right-logical", 2, 2},
    HloOpcodeRule{"sign", 1, 1},
    HloOpcodeRule{"sine", 1, 1},
    HloOpcodeRule{"sinh", 1, 1},
    HloOpcodeRule{"slice", 1, 1},
    HloOpcodeRule{"sort", 1, -1, "to_apply"},
    HloOpcodeRule{"sqrt", 1, 1},
    HloOpcodeRule{"stochastic-convert", 2, 2},
    HloOpcodeRule{"subtract", 2, 2},
    HloOpcodeRule{"tan", 1, 1},
    HloOpcodeRule{"tanh", 1, 1},
    HloOpcodeRule{"topk", 1, 1},
    HloOpcodeRule{"transpose", 1, 1},
    HloOpcodeRule{"triangular-solve", 2, 2},
    HloOpcodeRule{"tuple", 0, -1},
    HloOpcodeRule{"while", 1, 1, "condition", "body"},
    HloOpcodeRule{"xor", 2, 2},
};
static_assert(std::ranges::is_sorted(kRules, {}, [](const HloOpcodeRule& rule) {
  return std::string_view(rule.opcode);
}));

}  // namespace

const HloOpcodeRule* FindHloOpcode(std::string_view opcode) {
  const auto name = [](const HloOpcodeRule& rule) {
    return std::string_view(rule.opcode);
  };
  const auto found = std::ranges::lower_bound(kRules, opcode, {}, name);
  return found != kRules.end() && name(*found) == opcode ? &*found : nullptr;
}

bool IsKnownHloOpcode(std::string_view opcode) {
  if (FindHloOpcode(opcode) != nullptr) return true;
  for (const char* suffix : {"-start", "-update", "-done"}) {
    const auto stem = WithoutSuffix(opcode, suffix);
    if (stem && FindHloOpcode(*stem) != nullptr) return true;
  }
  return false;
}

std::optional<std::string> SimilarHloOpcode(std::string_view opcode) {
  std::vector<std::string> known;
  for (const HloOpcodeRule& rule : kRules) known.emplace_back(rule.opcode);
  return Similar(opcode, known);
}

std::optional<std::string_view> WithoutSuffix(std::string_view opcode,
                                              std::string_view suffix) {
  if (!opcode.ends_with(suffix) || opcode.size() == suffix.size()) {
    return std::nullopt;
  }
  return opcode.substr(0, opcode.size() - suffix.size());
}

}  // namespace podsim
