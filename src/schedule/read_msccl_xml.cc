// Parser of MSCCL XML: elements and attributes of one algorithm, as the runtime
// reads them (microsoft/msccl, src/graph/topo.cc).
#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <map>
#include <pugixml.hpp>

#include "base/error.h"
#include "base/text.h"
#include "base/text_file.h"
#include "schedule/msccl_xml.h"

namespace podsim {
namespace {

// What one file may hold in memory: chunks of all buffers of all gpus.
constexpr std::int64_t kMostChunks = std::int64_t{1} << 26;
constexpr int kMostGpus = 1 << 16;
constexpr std::int64_t kMostInt = INT32_MAX;

class Parser {
 public:
  explicit Parser(const std::string& path) : text_(ReadTextFile(path)) {
    algorithm_.file = path;
    for (std::size_t at = 0; at < text_.size(); ++at) {
      if (text_[at] == '\n') line_ends_.push_back(at);
    }
  }

  MscclAlgorithm Parse() && {
    pugi::xml_document document;
    const pugi::xml_parse_result result =
        document.load_buffer(text_.data(), text_.size());
    if (!result) FailSyntax(result);
    const pugi::xml_node root = document.document_element();
    if (const auto second = NextElement(root)) {
      Fail(second, "expected the end of the file, got <" +
                       std::string(second.name()) + ">");
    }
    if (std::string(root.name()) == "msccl_algos") {
      Fail(root,
           "this is a list of algorithms; give one of the files that its "
           "<load path=\"..\"/> name");
    }
    RequireName(root, {"algo"});
    ReadAlgorithm(root);
    return std::move(algorithm_);
  }

 private:
  [[noreturn]] void FailSyntax(const pugi::xml_parse_result& result) const {
    if (text_.find_first_not_of(" \t\r\n") == std::string::npos) {
      throw InputError(algorithm_.file, "empty file");
    }
    const auto offset =
        std::min(static_cast<std::size_t>(result.offset), text_.size());
    const int line = LineOf(offset);
    const std::size_t start =
        line == 1 ? 0 : line_ends_[static_cast<std::size_t>(line) - 2] + 1;
    std::string reason = result.description();
    reason[0] = static_cast<char>(std::tolower(reason[0]));
    throw InputError(
        algorithm_.At(line) + ":" + std::to_string(offset - start + 1),
        "not well-formed XML: " + reason);
  }

  int LineOf(std::size_t offset) const {
    return 1 + static_cast<int>(std::lower_bound(line_ends_.begin(),
                                                 line_ends_.end(), offset) -
                                line_ends_.begin());
  }
  int LineOf(const pugi::xml_node& node) const {
    return LineOf(static_cast<std::size_t>(node.offset_debug()));
  }
  [[noreturn]] void Fail(const pugi::xml_node& node,
                         const std::string& what) const {
    throw InputError(algorithm_.At(LineOf(node)), what);
  }

  static pugi::xml_node NextElement(pugi::xml_node node) {
    do {
      node = node.next_sibling();
    } while (node && node.type() != pugi::node_element);
    return node;
  }

  void RequireName(const pugi::xml_node& node,
                   std::initializer_list<const char*> known) const {
    std::vector<std::string> names;
    for (const char* name : known) {
      if (name == std::string(node.name())) return;
      names.push_back("<" + std::string(name) + ">");
    }
    Fail(node, "expected " + Join(names, " or ") + ", got <" +
                   Shortened(node.name(), 60) + ">");
  }

  // Elements below `node`, each of them known there.
  template <class Visit>
  void ForEachChild(const pugi::xml_node& node,
                    std::initializer_list<const char*> known,
                    Visit visit) const {
    for (const pugi::xml_node& child : node.children()) {
      if (child.type() == pugi::node_pcdata) {
        Fail(child, "unexpected text in <" + std::string(node.name()) +
                        ">: \"" + Shortened(child.value(), 60) + "\"");
      }
      if (child.type() != pugi::node_element) continue;
      RequireName(child, known);
      visit(child);
    }
  }

  // ---- attributes ---------------------------------------------------------

  std::string Text(const pugi::xml_node& node, const char* name) const {
    const pugi::xml_attribute attribute = node.attribute(name);
    if (!attribute) {
      Fail(node, "<" + std::string(node.name()) + "> lacks the attribute \"" +
                     name + "\"");
    }
    return attribute.value();
  }

  std::int64_t Integer(const pugi::xml_node& node, const char* name,
                       std::int64_t min, std::int64_t max) const {
    const std::string text = Text(node, name);
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() ||
        end != text.data() + text.size() || value < min || value > max) {
      Fail(node, std::string(name) + ": expected an integer " +
                     (max == INT64_MAX || max == kMostInt
                          ? "of at least " + std::to_string(min)
                          : "from " + std::to_string(min) + " to " +
                                std::to_string(max)) +
                     ", got \"" + Shortened(text, 60) + "\"");
    }
    return value;
  }
  int Int(const pugi::xml_node& node, const char* name, std::int64_t min,
          std::int64_t max = kMostInt) const {
    return static_cast<int>(Integer(node, name, min, max));
  }
  // 0 or 1; `otherwise` if it is not there.
  bool Flag(const pugi::xml_node& node, const char* name,
            bool otherwise) const {
    if (!node.attribute(name)) return otherwise;
    return Integer(node, name, 0, 1) == 1;
  }

  // ---- elements -----------------------------------------------------------

  void ReadAlgorithm(const pugi::xml_node& node) {
    algorithm_.line = LineOf(node);
    algorithm_.name = Text(node, "name");
    algorithm_.protocol = Text(node, "proto");
    if (algorithm_.protocol != "Simple" && algorithm_.protocol != "LL" &&
        algorithm_.protocol != "LL128") {
      Fail(node, "proto: expected Simple, LL or LL128, got \"" +
                     Shortened(algorithm_.protocol, 60) + "\"");
    }
    ReadKind(node);
    algorithm_.channels = Int(node, "nchannels", 0);
    const int gpus = Int(node, "ngpus", 1, kMostGpus);
    algorithm_.chunks_per_loop = Int(node, "nchunksperloop", 1);
    const std::string kind = algorithm_.kind->kind;
    const bool divided =
        kind != "all-reduce" && kind != "broadcast" && kind != "reduce";
    if (divided && algorithm_.chunks_per_loop % gpus != 0) {
      Fail(node, "nchunksperloop: expected a multiple of the " +
                     std::to_string(gpus) + " gpus, got \"" +
                     std::to_string(algorithm_.chunks_per_loop) + "\"");
    }
    algorithm_.in_place = Flag(node, "inplace", false);
    if (node.attribute("minBytes")) {
      algorithm_.min_bytes = Integer(node, "minBytes", 0, INT64_MAX);
    }
    if (node.attribute("maxBytes")) {
      algorithm_.max_bytes = Integer(node, "maxBytes", 0, INT64_MAX);
    }
    algorithm_.slice = node.attribute("slice").value();
    if (node.attribute("bytes")) {
      algorithm_.bytes = Integer(node, "bytes", 0, INT64_MAX);
    }
    if (node.attribute("root")) {
      algorithm_.root = Int(node, "root", 0, gpus - 1);
    }
    RequireMemory(node, gpus);
    ReadGpus(node, gpus);
    if (!algorithm_.chunk_sizes.empty()) CheckSizes(node);
  }

  void ReadKind(const pugi::xml_node& node) {
    std::string coll = Text(node, "coll");
    if (coll == "custom") {
      Fail(node,
           "coll: an algorithm that is \"custom\" does not say what it must "
           "compute");
    }
    if (coll == "reducescatter") coll = "reduce_scatter";
    std::vector<std::string> known;
    for (const MscclCollective& row : kMscclCollectives) {
      if (coll == row.coll) algorithm_.kind = FindKindParties(row.kind);
      known.emplace_back(row.coll);
    }
    if (algorithm_.kind != nullptr) return;
    const auto near = Similar(coll, known);
    Fail(node, "coll: unknown collective \"" + Shortened(coll, 60) + "\"" +
                   (near ? "; did you mean \"" + *near + "\"?" : "") +
                   " (known: " + Join(known, ", ") + ")");
  }

  // Before anything is as large as the file says.
  void RequireMemory(const pugi::xml_node& node, int gpus) const {
    const MscclBuffers buffers =
        BuffersOf(algorithm_.kind->kind, algorithm_.chunks_per_loop, gpus);
    std::int64_t chunks = algorithm_.chunks_per_loop;
    if (algorithm_.kind->targeted()) chunks *= gpus;
    const std::int64_t most =
        gpus * std::max<std::int64_t>(
                   chunks, std::int64_t{buffers.input} + buffers.output);
    if (most > kMostChunks) {
      Fail(node, std::to_string(gpus) + " gpus with " +
                     std::to_string(algorithm_.chunks_per_loop) +
                     " chunks are more than fit; expected at most " +
                     std::to_string(kMostChunks) + " in all");
    }
  }

  void ReadGpus(const pugi::xml_node& node, int gpus) {
    algorithm_.gpus.resize(static_cast<std::size_t>(gpus));
    int found = 0;
    std::map<int, int> id_of_chip;
    std::int64_t scratch = 0;
    ForEachChild(node, {"gpu", "chunks"}, [&](const pugi::xml_node& child) {
      if (child.name() == std::string("chunks")) {
        ReadSizes(child);
        return;
      }
      const int id = Int(child, "id", 0, gpus - 1);
      MscclGpu& gpu = algorithm_.gpus[static_cast<std::size_t>(id)];
      if (gpu.line != 0) {
        Fail(child, "gpu " + std::to_string(id) +
                        " stands twice, also in line " +
                        std::to_string(gpu.line));
      }
      ReadGpu(child, id, gpu);
      ++found;
      scratch += gpu.s_chunks;
      if (scratch > kMostChunks) {
        Fail(child, "the scratch buffers have more than " +
                        std::to_string(kMostChunks) + " chunks in all");
      }
      const int chip = gpu.chip.value_or(id);
      if (!id_of_chip.emplace(chip, id).second) {
        Fail(child, "gpu " + std::to_string(id) + " and gpu " +
                        std::to_string(id_of_chip[chip]) +
                        " are both on chip " + std::to_string(chip));
      }
    });
    if (found != gpus) {
      Fail(node, "ngpus says " + std::to_string(gpus) + ", but there are " +
                     std::to_string(found));
    }
  }

  // Ours: runs of chunks of one size.
  void ReadSizes(const pugi::xml_node& node) {
    const auto left = static_cast<std::int64_t>(algorithm_.chunks_per_loop) -
                      static_cast<std::int64_t>(algorithm_.chunk_sizes.size());
    const std::int64_t count = Integer(node, "count", 1, left);
    const std::int64_t bytes = Integer(node, "bytes", 0, INT64_MAX);
    algorithm_.chunk_sizes.insert(algorithm_.chunk_sizes.end(),
                                  static_cast<std::size_t>(count),
                                  Bytes(bytes));
  }

  void CheckSizes(const pugi::xml_node& node) const {
    std::int64_t left = algorithm_.bytes.value_or(0);
    for (const Bytes bytes : algorithm_.chunk_sizes) {
      left = bytes.value() > left ? -1 : left - bytes.value();
      if (left < 0) break;
    }
    if (left == 0 && algorithm_.chunk_sizes.size() ==
                         static_cast<std::size_t>(algorithm_.chunks_per_loop)) {
      return;
    }
    Fail(node,
         "bytes: expected the sum of the <chunks>, of which there must be " +
             std::to_string(algorithm_.chunks_per_loop));
  }

  void ReadGpu(const pugi::xml_node& node, int id, MscclGpu& gpu) {
    gpu.line = LineOf(node);
    const MscclBuffers buffers =
        BuffersOf(algorithm_.kind->kind, algorithm_.chunks_per_loop,
                  static_cast<int>(algorithm_.gpus.size()));
    gpu.i_chunks = ChunksOf(node, "i_chunks", buffers.input);
    gpu.o_chunks = ChunksOf(node, "o_chunks", buffers.output);
    gpu.s_chunks = Int(node, "s_chunks", 0);
    if (node.attribute("chip")) gpu.chip = Int(node, "chip", 0, kMaxChips - 1);
    ForEachChild(node, {"tb", "copy"}, [&](const pugi::xml_node& child) {
      if (child.name() == std::string("copy")) {
        gpu.copies.push_back(
            {.input = Int(child, "i_off", 0, buffers.input - 1),
             .output = Int(child, "o_off", 0, buffers.output - 1),
             .line = LineOf(child)});
        return;
      }
      const int next = static_cast<int>(gpu.threadblocks.size());
      if (Int(child, "id", 0) != next) {
        Fail(child, "id: expected " + std::to_string(next) +
                        ", the next threadblock of gpu " + std::to_string(id) +
                        ", got \"" + Text(child, "id") + "\"");
      }
      ReadThreadblock(child, id, gpu);
    });
    CheckMscclGpu(algorithm_, id);
  }

  // All that the collective needs, or none where the buffer is not used.
  int ChunksOf(const pugi::xml_node& node, const char* name, int all) const {
    const int chunks = Int(node, name, 0);
    if (chunks != 0 && chunks != all) {
      Fail(node, std::string(name) + ": expected " + std::to_string(all) +
                     " or 0 in an " + algorithm_.kind->kind + " of " +
                     std::to_string(algorithm_.chunks_per_loop) +
                     " chunks, got \"" + std::to_string(chunks) + "\"");
    }
    return chunks;
  }

  int Peer(const pugi::xml_node& node, const char* name, int id) const {
    const int peer =
        Int(node, name, -1, static_cast<int>(algorithm_.gpus.size()) - 1);
    if (peer == id) {
      Fail(node, std::string(name) + ": gpu " + std::to_string(id) +
                     " is its own peer");
    }
    return peer;
  }

  void ReadThreadblock(const pugi::xml_node& node, int id, MscclGpu& gpu) {
    MscclThreadblock block{.send = Peer(node, "send", id),
                           .receive = Peer(node, "recv", id),
                           .channel = Int(node, "chan", 0),
                           .line = LineOf(node),
                           .steps = {}};
    if ((block.send >= 0 || block.receive >= 0) &&
        block.channel >= algorithm_.channels) {
      Fail(node, "chan: expected less than the " +
                     std::to_string(algorithm_.channels) +
                     " of nchannels, got \"" + std::to_string(block.channel) +
                     "\"");
    }
    ForEachChild(node, {"step"}, [&](const pugi::xml_node& child) {
      ReadStep(child, gpu, block);
    });
    gpu.threadblocks.push_back(std::move(block));
  }

  void ReadStep(const pugi::xml_node& node, const MscclGpu& gpu,
                MscclThreadblock& block) {
    MscclStep step;
    step.line = LineOf(node);
    // Files of old msccl-tools count in "step".
    const char* number =
        !node.attribute("s") && node.attribute("step") ? "step" : "s";
    const auto next = static_cast<std::int64_t>(block.steps.size());
    if (Integer(node, number, 0, kMostInt) != next) {
      Fail(node, std::string(number) + ": expected " + std::to_string(next) +
                     ", the next step of its threadblock, got \"" +
                     Text(node, number) + "\"");
    }
    step.type = &TypeOf(node);
    if ((step.type->sends && block.send < 0) ||
        (step.type->receives && block.receive < 0)) {
      const bool sends = step.type->sends && block.send < 0;
      Fail(node, std::string("type: \"") + step.type->name + "\" " +
                     (sends ? "sends" : "receives") +
                     ", but its threadblock has " + (sends ? "send" : "recv") +
                     "=\"-1\"");
    }
    if (!step.type->empty()) ReadPlaces(node, gpu, step);
    const bool waits = node.attribute("depid");
    step.dep_threadblock = waits ? Int(node, "depid", -1) : -1;
    if (step.dep_threadblock >= 0) step.dep_step = Int(node, "deps", 0);
    step.has_dep = Flag(node, "hasdep", false);
    step.joined = Flag(node, "joined", false);
    step.apart = Flag(node, "apart", false);
    if (step.joined &&
        (block.steps.empty() || block.steps.back().type != step.type)) {
      Fail(node, std::string("joined: the step before is no \"") +
                     step.type->name + "\"");
    }
    step.route = node.attribute("route").value();
    if (const pugi::xml_attribute seconds = node.attribute("seconds")) {
      const std::string text = seconds.value();
      const auto [end, error] =
          std::from_chars(text.data(), text.data() + text.size(), step.seconds);
      if (error != std::errc() || end != text.data() + text.size() ||
          !(step.seconds >= 0 && step.seconds < 1e300)) {
        Fail(node, "seconds: expected a number of at least 0, got \"" +
                       Shortened(text, 60) + "\"");
      }
    }
    block.steps.push_back(std::move(step));
  }

  const MscclStepType& TypeOf(const pugi::xml_node& node) const {
    const std::string name = Text(node, "type");
    if (const MscclStepType* type = FindMscclStepType(name)) return *type;
    std::vector<std::string> known;
    for (const MscclStepType& type : MscclStepTypes()) {
      known.emplace_back(type.name);
    }
    if (name == "ra") {
      Fail(node,
           "type: \"ra\" (res_add) adds what is no part of the collective");
    }
    Fail(node, "type: unknown step \"" + Shortened(name, 60) +
                   "\" (known: " + Join(known, ", ") + ")");
  }

  void ReadPlaces(const pugi::xml_node& node, const MscclGpu& gpu,
                  MscclStep& step) {
    step.count = Int(node, "cnt", 1);
    // Files of old msccl-tools give the one that is at home.
    const bool one = !node.attribute("srcbuf") && node.attribute("buf");
    step.source = PlaceOf(node, one ? "buf" : "srcbuf", one ? "off" : "srcoff");
    step.destination =
        PlaceOf(node, one ? "buf" : "dstbuf", one ? "off" : "dstoff");
    // The other end of a message names the peer's buffer: it is for people.
    const MscclStepType& type = *step.type;
    if (!type.receives || type.reduces) {
      CheckRange(node, gpu, step.source, step.count, "srcoff");
    }
    if (type.stores) {
      CheckRange(node, gpu, step.destination, step.count, "dstoff");
    }
  }

  MscclPlace PlaceOf(const pugi::xml_node& node, const char* buffer,
                     const char* offset) const {
    const std::string name = Text(node, buffer);
    if (name != "i" && name != "o" && name != "s") {
      Fail(node, std::string(buffer) + ": expected i, o or s, got \"" +
                     Shortened(name, 60) + "\"");
    }
    return {.buffer = name[0], .offset = Int(node, offset, -1)};
  }

  void CheckRange(const pugi::xml_node& node, const MscclGpu& gpu,
                  const MscclPlace& place, int count, const char* name) const {
    const int chunks = place.buffer == 'i'   ? gpu.i_chunks
                       : place.buffer == 'o' ? gpu.o_chunks
                                             : gpu.s_chunks;
    if (place.offset >= 0 && count <= chunks - place.offset) return;
    Fail(node, std::string(name) + ": chunks " + std::to_string(place.offset) +
                   " to " +
                   std::to_string(std::int64_t{place.offset} + count - 1) +
                   " are not all in buffer " + place.buffer + ", which has " +
                   std::to_string(chunks));
  }

  std::string text_;
  std::vector<std::size_t> line_ends_;
  MscclAlgorithm algorithm_;
};

}  // namespace

MscclAlgorithm ReadMscclXml(const std::string& path) {
  return Parser(path).Parse();
}

}  // namespace podsim
