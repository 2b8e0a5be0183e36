#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "hlo/attributes.h"
#include "hlo/cost.h"

namespace podsim {
namespace {

__extension__ typedef __int128 Wide;

// One spatial dimension of a window, all defaults as XLA has them.
struct WindowDimension {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t pad_low = 0;
  std::int64_t lhs_dilate = 1;
  std::int64_t rhs_dilate = 1;
};

// "bf01_01io->bf01".
struct DimLabels {
  std::string lhs;
  std::string rhs;
  std::string out;
};

DimLabels ParseDimLabels(const std::string& text, const std::string& where) {
  const auto underscore = text.find('_');
  const auto arrow = text.find("->");
  if (underscore == std::string::npos || arrow == std::string::npos ||
      arrow < underscore) {
    throw InputError(
        where, "dim_labels=" + text + ": expected labels such as bf_io->bf");
  }
  return {text.substr(0, underscore),
          text.substr(underscore + 1, arrow - underscore - 1),
          text.substr(arrow + 2)};
}

std::int64_t ReadNumber(const std::string& text, const std::string& where) {
  const auto value = ParseWholeInteger(text);
  if (!value) {
    throw InputError(where, "window: expected an integer, got \"" +
                                Shortened(text, 40) + "\"");
  }
  return *value;
}

void SetWindowField(const std::string& field, const std::string& text,
                    const std::string& where,
                    std::vector<WindowDimension>& window) {
  const std::vector<std::string> values = Split(text, 'x');
  if (window.empty()) window.resize(values.size());
  if (values.size() != window.size()) {
    throw InputError(where, "window: " + field + "=" + Shortened(text, 40) +
                                " has " + std::to_string(values.size()) +
                                " dimensions, others " +
                                std::to_string(window.size()));
  }
  for (std::size_t d = 0; d < values.size(); ++d) {
    WindowDimension& dimension = window[d];
    const auto number = [&] { return ReadNumber(values[d], where); };
    if (field == "size") dimension.size = number();
    if (field == "stride") dimension.stride = number();
    if (field == "lhs_dilate") dimension.lhs_dilate = number();
    if (field == "rhs_dilate") dimension.rhs_dilate = number();
    if (field == "pad") {
      dimension.pad_low =
          ReadNumber(values[d].substr(0, values[d].find('_')), where);
    }
    if (dimension.size < 0 || dimension.stride < 1 ||
        dimension.lhs_dilate < 1 || dimension.rhs_dilate < 1) {
      throw InputError(where, "window: " + field + "=" + Shortened(text, 40) +
                                  " is too small");
    }
  }
}

// {size=32 pad=31_31 rhs_reversal=1}
std::vector<WindowDimension> ParseWindow(const std::string& text,
                                         const std::string& where) {
  std::vector<WindowDimension> window;
  std::string inside = text;
  std::erase_if(inside, [](char c) { return c == '{' || c == '}'; });
  std::ranges::replace(inside, '\n', ' ');
  for (const std::string& entry : Split(inside, ' ')) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos) continue;
    SetWindowField(entry.substr(0, equals), entry.substr(equals + 1), where,
                   window);
  }
  return window;
}

std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// Pairs of a kernel and an output position that meet an element of the input,
// neither padding nor a hole of its dilation.
double ValidPairs(const WindowDimension& window, std::int64_t input,
                  std::int64_t output) {
  if (input <= 0 || output <= 0) return 0;
  const Wide extent = Wide{input - 1} * window.lhs_dilate;
  double pairs = 0;
  for (std::int64_t k = 0; k < window.size; ++k) {
    // 0 <= o stride + offset <= extent.
    const std::int64_t offset = k * window.rhs_dilate - window.pad_low;
    const std::int64_t first =
        std::max<std::int64_t>(0, -FloorDiv(offset, window.stride));
    const Wide room = extent - offset;
    if (room < 0) continue;
    const auto last = static_cast<std::int64_t>(
        std::min<Wide>(output - 1, room / window.stride));
    if (last < first) continue;
    if (window.lhs_dilate == 1) {
      pairs += static_cast<double>(last - first + 1);
      continue;
    }
    // Every period-th position hits an element, if any does.
    std::int64_t hit = first;
    const std::int64_t end = std::min(last, first + window.lhs_dilate - 1);
    while (hit <= end &&
           (hit * window.stride + offset) % window.lhs_dilate != 0) {
      ++hit;
    }
    if (hit > end) continue;
    std::int64_t period = 1;
    while (period * window.stride % window.lhs_dilate != 0) ++period;
    pairs += static_cast<double>((last - hit) / period + 1);
  }
  return pairs;
}

double SizeAt(const HloShape& shape, const std::string& labels, char label) {
  const auto at = labels.find(label);
  if (at == std::string::npos || at >= shape.dimensions.size()) return 1;
  return static_cast<double>(shape.dimensions[at]);
}

std::int64_t WholeSizeAt(const HloShape& shape, const std::string& labels,
                         char label) {
  const auto at = labels.find(label);
  if (at == std::string::npos || at >= shape.dimensions.size()) return 1;
  return shape.dimensions[at];
}

const HloShape& ArrayOf(const HloShape& shape) {
  return IsTuple(shape) && !shape.elements.empty() ? shape.elements[0] : shape;
}

Flops ConvolutionFlops(const HloModule& module, const HloComputation& in,
                       const HloInstruction& at) {
  const std::string where = WhereIs(module, at);
  const HloShape& lhs = ShapeOf(in, at.operands[0]);
  const HloShape& rhs = ShapeOf(in, at.operands[1]);
  const HloShape& out = ArrayOf(at.shape);
  const std::string* text = FindAttribute(at, "dim_labels");
  if (text == nullptr) return Flops(0);
  const DimLabels labels = ParseDimLabels(*text, where);
  std::vector<WindowDimension> window;
  if (const std::string* written = FindAttribute(at, "window")) {
    window = ParseWindow(*written, where);
  }
  const auto groups = [&](const char* name) {
    return static_cast<double>(
        std::max<std::int64_t>(1, FindInteger(module, at, name).value_or(1)));
  };
  double flops = 2 * SizeAt(lhs, labels.lhs, 'f') /
                 groups("feature_group_count") * SizeAt(rhs, labels.rhs, 'o') *
                 SizeAt(lhs, labels.lhs, 'b') / groups("batch_group_count");
  for (std::size_t d = 0; d < window.size() && d < 10; ++d) {
    const char label = static_cast<char>('0' + d);
    flops *= ValidPairs(window[d], WholeSizeAt(lhs, labels.lhs, label),
                        WholeSizeAt(out, labels.out, label));
  }
  return Flops(flops);
}

// 2 x elements of the result x the product of these dimensions of the lhs.
Flops ContractionFlops(const HloModule& module, const HloInstruction& at,
                       const HloShape& lhs,
                       const std::vector<std::int64_t>& contracting) {
  double flops = 2 * static_cast<double>(ElementCount(ArrayOf(at.shape)));
  for (const std::int64_t d : contracting) {
    if (d < 0 || d >= static_cast<std::int64_t>(lhs.dimensions.size())) {
      throw InputError(
          WhereIs(module, at),
          "contracts dimension " + std::to_string(d) + " of " + ToText(lhs));
    }
    flops *= static_cast<double>(lhs.dimensions[d]);
  }
  return Flops(flops);
}

// ["1","2"] -> 1, 2.
std::vector<std::int64_t> ParseQuotedList(std::string_view text) {
  std::vector<std::int64_t> values;
  std::string inside(text);
  std::erase_if(inside, [](char c) {
    return c == '[' || c == ']' || c == '"' || c == ' ';
  });
  for (const std::string& part : Split(inside, ',')) {
    if (const auto value = ParseWholeInteger(part)) values.push_back(*value);
  }
  return values;
}

// Matmuls of the GPU library say in their configuration what they contract.
Flops LibraryMatmulFlops(const HloModule& module, const HloComputation& in,
                         const HloInstruction& at) {
  const auto config = FindText(at, "backend_config");
  if (!config || at.operands.empty()) return Flops(0);
  std::string_view object = *config;
  if (const auto inner = FindJsonLike(object, "gemm_backend_config")) {
    object = *inner;
  }
  const auto numbers = FindJsonLike(object, "dot_dimension_numbers");
  if (!numbers) return Flops(0);
  const auto contracting = FindJsonLike(*numbers, "lhs_contracting_dimensions");
  if (!contracting) return Flops(0);
  return ContractionFlops(module, at, ShapeOf(in, at.operands[0]),
                          ParseQuotedList(*contracting));
}

}  // namespace

Flops DotFlops(const HloModule& module, const HloComputation& computation,
               const HloInstruction& instruction) {
  const std::string& opcode = instruction.opcode;
  if (opcode == "custom-call") {
    const auto target = FindText(instruction, "custom_call_target");
    const bool matmul = target && (target->starts_with("__cublas$"));
    return matmul ? LibraryMatmulFlops(module, computation, instruction)
                  : Flops(0);
  }
  if (opcode == "convolution" && instruction.operands.size() >= 2) {
    return ConvolutionFlops(module, computation, instruction);
  }
  if ((opcode == "dot" || opcode == "ragged-dot" || opcode == "scaled-dot") &&
      !instruction.operands.empty()) {
    return ContractionFlops(
        module, instruction, ShapeOf(computation, instruction.operands[0]),
        FindIntegers(module, instruction, "lhs_contracting_dims")
            .value_or(std::vector<std::int64_t>()));
  }
  return Flops(0);
}

}  // namespace podsim
