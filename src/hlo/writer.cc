#include "hlo/writer.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace podsim {
namespace {

HloShape WithoutLayouts(HloShape shape) {
  shape.layout.clear();
  for (HloShape& element : shape.elements) {
    element = WithoutLayouts(std::move(element));
  }
  return shape;
}

// {1,0}
std::string IndexText(const std::vector<int>& index) {
  std::string text = "{";
  for (const int i : index) {
    if (text.size() > 1) text += ',';
    text += std::to_string(i);
  }
  return text + '}';
}

class Writer {
 public:
  explicit Writer(const HloModule& module) : module_(module) {}

  void Module() {
    if (module_.has_header) Header();
    for (const HloTable& table : module_.tables) {
      text_ += table.name + '\n' + table.rows + "\n\n";
    }
    for (std::size_t c = 0; c < module_.computations.size(); ++c) {
      if (c > 0) text_ += '\n';
      Computation(module_.computations[c], static_cast<int>(c));
    }
  }

  // A name that the text ends inside of.
  void OpenEnd() {
    text_ += "\n// The text that this module was read from ends too early.\n%";
  }

  void Instruction(const HloComputation& computation,
                   const HloInstruction& instruction) {
    text_ += '%' + instruction.name + " = " + ToText(instruction.shape) + ' ' +
             instruction.opcode + '(';
    Arguments(computation, instruction);
    text_ += ')';
    InstructionAttributes(computation, instruction);
  }

  std::string Take() { return std::move(text_); }

 private:
  void Header() {
    text_ += "HloModule " + module_.name;
    if (module_.is_scheduled) text_ += ", is_scheduled=true";
    if (module_.replica_count != 1) {
      text_ += ", replica_count=" + std::to_string(module_.replica_count);
    }
    if (module_.num_partitions != 1) {
      text_ += ", num_partitions=" + std::to_string(module_.num_partitions);
    }
    if (!module_.input_output_alias.empty()) Aliases();
    for (const HloAttribute& attribute : module_.attributes) {
      Attribute(attribute.name, attribute.value);
    }
    text_ += "\n\n";
  }

  void Aliases() {
    text_ += ", input_output_alias={";
    bool first = true;
    for (const HloAlias& alias : module_.input_output_alias) {
      text_ += (first ? " " : ", ") + IndexText(alias.output) + ": (" +
               std::to_string(alias.parameter) + ", " +
               IndexText(alias.parameter_index) +
               (alias.must_alias ? ", must-alias)" : ", may-alias)");
      first = false;
    }
    text_ += " }";
  }

  void Computation(const HloComputation& computation, int index) {
    if (module_.entry == index) text_ += "ENTRY ";
    text_ += '%' + computation.name;
    Signature(computation);
    text_ += " {\n";
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      text_ += static_cast<int>(i) == computation.root ? "  ROOT " : "  ";
      Instruction(computation, computation.instructions[i]);
      text_ += '\n';
    }
    text_ += '}';
    for (const HloAttribute& attribute : computation.attributes) {
      Attribute(attribute.name, attribute.value);
    }
    text_ += '\n';
  }

  void Signature(const HloComputation& computation) {
    const auto at = [&](int index) -> const HloInstruction& {
      return computation.instructions[static_cast<std::size_t>(index)];
    };
    text_ += " (";
    bool first = true;
    for (const int index : computation.parameters) {
      if (!first) text_ += ", ";
      first = false;
      const HloInstruction& parameter = at(index);
      text_ += parameter.name + ": " + ToText(WithoutLayouts(parameter.shape));
    }
    text_ += ") -> " + ToText(WithoutLayouts(at(computation.root).shape));
  }

  void Name(const HloComputation& computation, int instruction) {
    text_ +=
        '%' +
        computation.instructions[static_cast<std::size_t>(instruction)].name;
  }

  void Arguments(const HloComputation& computation,
                 const HloInstruction& instruction) {
    if (instruction.parameter >= 0) {
      text_ += std::to_string(instruction.parameter);
    }
    text_ += instruction.literal;
    // A comment in it may be one to the end of the line.
    if (instruction.literal.find("//") != std::string::npos) text_ += '\n';
    for (std::size_t k = 0; k < instruction.operands.size(); ++k) {
      if (k > 0) text_ += ", ";
      Name(computation, instruction.operands[k].instruction);
      for (const int i : instruction.operands[k].path) {
        text_ += '#' + std::to_string(i);
      }
    }
  }

  // "device_ids" after a mesh would be read as a part of it: computations and
  // control predecessors stand before it, if only as an empty list.
  void InstructionAttributes(const HloComputation& computation,
                             const HloInstruction& instruction) {
    const auto begin = instruction.attributes.begin();
    const auto end = instruction.attributes.end();
    const auto device_ids =
        std::find_if(begin, end, [](const HloAttribute& attribute) {
          return attribute.name == "device_ids";
        });
    for (auto a = begin; a != device_ids; ++a) Attribute(a->name, a->value);
    Calls(instruction);
    if (!instruction.control_predecessors.empty() || device_ids != end) {
      ControlPredecessors(computation, instruction);
    }
    for (auto a = device_ids; a != end; ++a) Attribute(a->name, a->value);
  }

  void Calls(const HloInstruction& instruction) {
    const auto& calls = instruction.calls;
    for (std::size_t i = 0; i < calls.size();) {
      const HloCallRole role = calls[i].role;
      const bool is_list = role == HloCallRole::kBranch ||
                           role == HloCallRole::kCalledComputation ||
                           (i + 1 < calls.size() && calls[i + 1].role == role);
      std::string names;
      for (; i < calls.size() && calls[i].role == role; ++i) {
        if (!names.empty()) names += ", ";
        names += '%' + CalleeOf(calls[i]).name;
      }
      Attribute(ToText(role), is_list ? '{' + names + '}' : names);
    }
  }

  const HloComputation& CalleeOf(const HloCall& call) const {
    return module_.computations[static_cast<std::size_t>(call.computation)];
  }

  void ControlPredecessors(const HloComputation& computation,
                           const HloInstruction& instruction) {
    text_ += ", control-predecessors={";
    bool first = true;
    for (const int before : instruction.control_predecessors) {
      if (!first) text_ += ", ";
      first = false;
      Name(computation, before);
    }
    text_ += '}';
  }

  void Attribute(const std::string& name, const std::string& value) {
    text_ += ", " + name + '=' + value;
  }

  const HloModule& module_;
  std::string text_;
};

}  // namespace

std::string WriteHlo(const HloModule& module) {
  return WriteHlo(std::span(&module, 1));
}

std::string WriteHlo(std::span<const HloModule> modules) {
  std::string text;
  for (const HloModule& module : modules) {
    if (!text.empty()) text += "\n// -----\n\n";
    Writer writer(module);
    writer.Module();
    if (module.truncated && &module == &modules.back()) writer.OpenEnd();
    text += writer.Take();
  }
  return text;
}

std::string WriteHlo(const HloModule& module, const HloComputation& computation,
                     const HloInstruction& instruction) {
  Writer writer(module);
  writer.Instruction(computation, instruction);
  return writer.Take();
}

}  // namespace podsim
