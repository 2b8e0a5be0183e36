#include "workload/chakra_attribute.h"

#include "base/error.h"

namespace podsim {
namespace {

using Where = std::function<std::string()>;

constexpr double kMaxInteger = 9.2e18;

std::int64_t NumberOf(const ChakraAttribute& attribute, const Where& where) {
  if (attribute.number) return *attribute.number;
  if (attribute.real && *attribute.real >= -kMaxInteger &&
      *attribute.real <= kMaxInteger) {
    return static_cast<std::int64_t>(*attribute.real);
  }
  throw InputError(where(), "expected a number as " + attribute.name);
}

std::int64_t SizeOf(const ChakraAttribute& attribute, const Where& where) {
  const std::int64_t value = NumberOf(attribute, where);
  if (value >= 0) return value;
  throw InputError(where(), attribute.name + " must not be negative, got " +
                                std::to_string(value));
}

}  // namespace

void ApplyAttribute(const ChakraAttribute& attribute, const Where& where,
                    ChakraNode& node) {
  const std::string& name = attribute.name;
  if (name == "is_cpu_op") node.is_cpu_op = NumberOf(attribute, where) != 0;
  if (name == "num_ops") node.num_ops = SizeOf(attribute, where);
  if (name == "tensor_size") node.tensor_size = SizeOf(attribute, where);
  if (name == "comm_type") node.comm_type = NumberOf(attribute, where);
  if (name == "comm_size") node.comm_size = SizeOf(attribute, where);
  if (name == "comm_src") node.comm_src = NumberOf(attribute, where);
  if (name == "comm_dst") node.comm_dst = NumberOf(attribute, where);
  if (name == "comm_tag") node.comm_tag = NumberOf(attribute, where);
  if (name == "pg_name") node.pg_name = attribute.text;
  if (name == "involved_dim") node.involved_dim = attribute.bools;
  if (name == "podsim_seconds") node.duration_s = attribute.real;
}

}  // namespace podsim
