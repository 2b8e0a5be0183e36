// Writer of MSCCL XML.
#include <algorithm>

#include "base/text.h"
#include "schedule/msccl_xml.h"

namespace podsim {
namespace {

using Write = std::function<void(const std::string&)>;

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string Attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + Escaped(value) + "\"";
}
std::string Attribute(const char* name, std::int64_t value) {
  return Attribute(name, std::to_string(value));
}

const char* CollOf(const KindParties& kind) {
  const auto row = std::find_if(
      kMscclCollectives.begin(), kMscclCollectives.end(),
      [&](const auto& entry) { return std::string(entry.kind) == kind.kind; });
  return row->coll;
}

// Runs of chunks of one size.
void WriteSizes(const std::vector<Bytes>& sizes, const Write& write) {
  for (auto run = sizes.begin(); run != sizes.end();) {
    const auto end = std::find_if(
        run, sizes.end(), [&](const Bytes size) { return size != *run; });
    write("  <chunks" + Attribute("count", end - run) +
          Attribute("bytes", run->value()) + "/>\n");
    run = end;
  }
}

std::string PlaceText(const char* buffer, const char* offset,
                      const MscclPlace& at) {
  return Attribute(buffer, std::string(1, at.buffer)) +
         Attribute(offset, at.offset);
}

void WriteStep(const MscclStep& step, std::int64_t number, const Write& write) {
  write("      <step" + Attribute("s", number) +
        Attribute("type", std::string(step.type->name)) +
        PlaceText("srcbuf", "srcoff", step.source) +
        PlaceText("dstbuf", "dstoff", step.destination) +
        Attribute("cnt", step.count) +
        Attribute("depid", step.dep_threadblock) +
        Attribute("deps", step.dep_step) +
        Attribute("hasdep", step.has_dep ? 1 : 0) +
        (step.apart ? Attribute("apart", 1) : "") +
        (step.joined ? Attribute("joined", 1) : "") +
        (step.route.empty() ? "" : Attribute("route", step.route)) +
        (step.seconds > 0 ? Attribute("seconds", Exact(step.seconds)) : "") +
        "/>\n");
}

void WriteGpu(const MscclGpu& gpu, std::int64_t id, const Write& write) {
  write("  <gpu" + Attribute("id", id) +
        (gpu.chip ? Attribute("chip", *gpu.chip) : "") +
        Attribute("i_chunks", gpu.i_chunks) +
        Attribute("o_chunks", gpu.o_chunks) +
        Attribute("s_chunks", gpu.s_chunks) + ">\n");
  std::int64_t block_id = 0;
  for (const MscclThreadblock& block : gpu.threadblocks) {
    write("    <tb" + Attribute("id", block_id++) +
          Attribute("send", block.send) + Attribute("recv", block.receive) +
          Attribute("chan", block.channel) + ">\n");
    std::int64_t number = 0;
    for (const MscclStep& step : block.steps) WriteStep(step, number++, write);
    write("    </tb>\n");
  }
  write("  </gpu>\n");
}

}  // namespace

void WriteMscclXml(const MscclAlgorithm& algorithm, const Write& write) {
  write("<algo" + Attribute("name", algorithm.name) +
        Attribute("proto", algorithm.protocol) +
        Attribute("nchannels", algorithm.channels) +
        Attribute("nchunksperloop", algorithm.chunks_per_loop) +
        Attribute("ngpus", std::ssize(algorithm.gpus)) +
        Attribute("coll", std::string(CollOf(*algorithm.kind))) +
        Attribute("inplace", algorithm.in_place ? 1 : 0) +
        Attribute("outofplace", algorithm.in_place ? 0 : 1) +
        Attribute("slice", algorithm.slice) +
        Attribute("bytes", algorithm.bytes.value_or(0)) +
        (algorithm.root ? Attribute("root", *algorithm.root) : "") + ">\n");
  WriteSizes(algorithm.chunk_sizes, write);
  std::int64_t id = 0;
  for (const MscclGpu& gpu : algorithm.gpus) WriteGpu(gpu, id++, write);
  write("</algo>\n");
}

}  // namespace podsim
