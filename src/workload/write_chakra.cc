// Writer of Chakra execution traces of schedules.
#include <bit>
#include <cmath>

#include "base/error.h"
#include "workload/chakra_lower.h"

namespace podsim {
namespace {

void PutVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    out += static_cast<char>((value & 0x7f) | 0x80);
  }
  out += static_cast<char>(value);
}

void PutNumber(std::string& out, int field, std::uint64_t value) {
  PutVarint(out, static_cast<std::uint64_t>(field) << 3);
  PutVarint(out, value);
}

void PutBytes(std::string& out, int field, const std::string& bytes) {
  PutVarint(out, static_cast<std::uint64_t>(field) << 3 | 2);
  PutVarint(out, bytes.size());
  out += bytes;
}

void PutMessage(std::string& out, const std::string& message) {
  PutVarint(out, message.size());
  out += message;
}

// `type`: the field of the oneof, 9 int64, 7 int32, 27 bool.
void PutAttribute(std::string& node, const char* name, int type,
                  std::int64_t value) {
  std::string attribute;
  PutBytes(attribute, 1, name);
  PutNumber(attribute, type, static_cast<std::uint64_t>(value));
  PutBytes(node, 10, attribute);
}

void PutSeconds(std::string& node, double seconds) {
  std::string attribute;
  PutBytes(attribute, 1, "podsim_seconds");
  PutVarint(attribute, 3 << 3 | 1);
  auto bits = std::bit_cast<std::uint64_t>(seconds);
  for (int i = 0; i < 8; ++i, bits >>= 8) {
    attribute += static_cast<char>(bits & 0xff);
  }
  PutBytes(node, 10, attribute);
}

class RankWriter {
 public:
  RankWriter(const Schedule& schedule, ChipId rank, const std::string& where)
      : schedule_(schedule), rank_(rank), where_(where) {}

  std::string Text() {
    std::string metadata;
    PutBytes(metadata, 1, "0.0.4");
    PutMessage(out_, metadata);
    for (std::uint32_t id = 0; id < schedule_.size(); ++id) {
      const OpId op(id);
      if (schedule_.kind(op) != OpKind::kTransfer) {
        if (schedule_.src(op) == rank_) PutCompute(op);
      } else if (schedule_.src(op) == rank_) {
        PutMessageNode(op, ChakraNodeType::kCommSend);
      } else if (schedule_.dst(op) == rank_) {
        PutMessageNode(op, ChakraNodeType::kCommRecv);
      }
    }
    return std::move(out_);
  }

 private:
  // Node id = op id: no rank has two nodes of one op.
  std::string Node(OpId op, ChakraNodeType type) const {
    std::string node;
    PutNumber(node, 1, op.value());
    PutBytes(node, 2, "op" + std::to_string(op.value()));
    PutNumber(node, 3, static_cast<std::uint64_t>(type));
    if (type == ChakraNodeType::kCommRecv) return node;
    std::string deps;
    for (const OpId wait : schedule_.after(op)) {
      const bool here = schedule_.src(wait) == rank_ ||
                        (schedule_.kind(wait) == OpKind::kTransfer &&
                         schedule_.dst(wait) == rank_);
      if (!here) {
        throw InputError(where_,
                         "op " + std::to_string(op.value()) + " waits for op " +
                             std::to_string(wait.value()) +
                             " of other chips, which a trace cannot say; take "
                             "another --lowering, or write a schedule (.json)");
      }
      PutVarint(deps, wait.value());
    }
    if (!deps.empty()) PutBytes(node, 5, deps);
    return node;
  }

  void PutCompute(OpId op) {
    std::string node = Node(op, ChakraNodeType::kComp);
    const double seconds = schedule_.duration(op).value();
    const double micros = std::ceil(seconds * 1e6);
    if (micros > 0) PutNumber(node, 7, static_cast<std::uint64_t>(micros));
    PutAttribute(node, "is_cpu_op", 27, 0);
    PutSeconds(node, seconds);
    PutMessage(out_, node);
  }

  void PutMessageNode(OpId op, ChakraNodeType type) {
    std::string node = Node(op, type);
    PutAttribute(node, "is_cpu_op", 27, 0);
    PutAttribute(node, "comm_size", 9, schedule_.bytes(op).value());
    PutAttribute(node, "comm_src", 7, schedule_.src(op).value());
    PutAttribute(node, "comm_dst", 7, schedule_.dst(op).value());
    PutAttribute(node, "comm_tag", 7, op.value());
    PutMessage(out_, node);
  }

  const Schedule& schedule_;
  ChipId rank_;
  const std::string& where_;
  std::string out_;
};

}  // namespace

std::string ChakraText(const Schedule& schedule, ChipId rank,
                       const std::string& where) {
  return RankWriter(schedule, rank, where).Text();
}

}  // namespace podsim
