#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "hlo/attributes.h"
#include "hlo/cost.h"

namespace podsim {
namespace {

__extension__ typedef __int128 Wide;

// Of the sum over the dimensions of a window.
constexpr std::int64_t kMaxSteps = 131072;

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

Wide FloorDivide(Wide a, Wide b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

// x with a x = gcd (mod b), from 0 to b-1.
Wide InverseOf(Wide a, Wide b) {
  Wide x = 1, next_x = 0;
  for (Wide rest = a, next = b; next != 0;) {
    const Wide quotient = rest / next;
    rest = std::exchange(next, rest - quotient * next);
    x = std::exchange(next_x, x - quotient * next_x);
  }
  return (x % b + b) % b;
}

// Positions of a kernel or an output: `count` of them, `step` apart.
struct Positions {
  std::int64_t count;
  std::int64_t step;
};

// Pairs of a kernel and an output position that meet an element of the input,
// neither padding nor a hole of its dilation: 0 <= o stride + k rhs_dilate -
// pad_low = i lhs_dilate with 0 <= i < input. The shorter of k and o is gone
// through one by one.
double ValidPairs(const WindowDimension& window, std::int64_t input,
                  std::int64_t output) {
  if (input <= 0 || output <= 0) return 0;
  Positions each{window.size, window.rhs_dilate};
  Positions other{output, window.stride};
  if (each.count > other.count) std::swap(each, other);
  const Wide extent = Wide{input - 1} * window.lhs_dilate;
  // Every period-th position of the other hits an element, if any does.
  const std::int64_t common = std::gcd(other.step, window.lhs_dilate);
  const Wide period = window.lhs_dilate / common;
  const Wide inverse = InverseOf(other.step / common, period);
  double pairs = 0;
  for (std::int64_t k = 0; k < each.count; ++k) {
    const Wide offset = Wide{k} * each.step - window.pad_low;
    const Wide first = std::max<Wide>(0, -FloorDivide(offset, other.step));
    const Wide last = std::min<Wide>(other.count - 1,
                                     FloorDivide(extent - offset, other.step));
    if (last < first || offset % common != 0) continue;
    // o (step / common) = -offset / common (mod period).
    const Wide residue = -(offset / common) % period * inverse % period;
    const Wide hit = first + ((residue - first) % period + period) % period;
    if (hit > last) continue;
    pairs += static_cast<double>((last - hit) / period + 1);
  }
  return pairs;
}

std::int64_t SizeOf(const HloShape& shape, std::size_t d) {
  return shape.dimensions[d] == kUnboundedDimension ? 1 : shape.dimensions[d];
}

// 1 for a dimension that is not there.
std::int64_t SizeAt(const HloShape& shape, const std::string& labels,
                    char label) {
  const auto at = labels.find(label);
  if (at == std::string::npos || at >= shape.dimensions.size()) return 1;
  return SizeOf(shape, at);
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
  const auto size = [](const HloShape& shape, const std::string& of,
                       char label) {
    return static_cast<double>(SizeAt(shape, of, label));
  };
  double flops = 2 * size(lhs, labels.lhs, 'f') /
                 groups("feature_group_count") * size(rhs, labels.rhs, 'o') *
                 size(lhs, labels.lhs, 'b') / groups("batch_group_count");
  std::int64_t steps = 0;
  for (std::size_t d = 0; d < window.size() && d < 10; ++d) {
    const char label = static_cast<char>('0' + d);
    const std::int64_t output = SizeAt(out, labels.out, label);
    steps += std::min({window[d].size, output, kMaxSteps + 1});
    if (steps > kMaxSteps) {
      throw InputError(where, "window: size " + std::to_string(window[d].size) +
                                  " and output " + std::to_string(output) +
                                  " of dimension " + label +
                                  ", expected one of them to be at most 131072"
                                  ", that of all dimensions together");
    }
    flops *= ValidPairs(window[d], SizeAt(lhs, labels.lhs, label), output);
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
    if (std::count(contracting.begin(), contracting.end(), d) > 1) {
      throw InputError(WhereIs(module, at),
                       "contracts dimension " + std::to_string(d) + " twice");
    }
    flops *= static_cast<double>(SizeOf(lhs, static_cast<std::size_t>(d)));
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
