// Chakra traces of messages as a schedule.
#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "cost/roofline.h"
#include "topology/routing.h"
#include "workload/chakra_lower.h"

namespace podsim {
namespace {

// Of all nodes of all ranks.
struct Vertex {
  std::size_t rank = 0;
  const ChakraNode* node = nullptr;
  std::vector<std::size_t> waits;  // vertices
  std::size_t partner = 0;         // of a COMM_SEND or COMM_RECV
};

class Messages {
 public:
  Messages(const std::vector<ChakraTrace>& traces, ScheduleFile& file)
      : traces_(traces), file_(file) {}

  void Build() {
    for (std::size_t rank = 0; rank < traces_.size(); ++rank) AddRank(rank);
    Match();
    AddOps(Order());
    file_.meaning.payload = Bytes(bytes_);
  }

 private:
  void AddRank(std::size_t rank) {
    const ChakraTrace& trace = traces_[rank];
    const auto deps = DataDeps(trace);
    const std::size_t base = vertices_.size();
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
      Vertex vertex{.rank = rank, .node = &trace.nodes[i], .waits = {}};
      for (const std::size_t dep : deps[i]) vertex.waits.push_back(base + dep);
      CheckNode(*vertex.node);
      vertices_.push_back(std::move(vertex));
    }
  }

  static void CheckNode(const ChakraNode& node) {
    if (node.is_cpu_op || node.type != ChakraNodeType::kCommColl) return;
    throw InputError(node.where,
                     "a COMM_COLL beside COMM_SEND and COMM_RECV is not "
                     "supported");
  }

  static bool IsSend(const ChakraNode& node) {
    return node.type == ChakraNodeType::kCommSend && !node.is_cpu_op;
  }
  static bool IsReceive(const ChakraNode& node) {
    return node.type == ChakraNodeType::kCommRecv && !node.is_cpu_op;
  }

  std::size_t RankOr(const std::optional<std::int64_t>& value, std::size_t own,
                     const ChakraNode& node, const char* name) const {
    const auto ranks = static_cast<std::int64_t>(traces_.size());
    const std::int64_t rank = value.value_or(static_cast<std::int64_t>(own));
    if (rank < 0 || rank >= ranks) {
      throw InputError(node.where,
                       std::string(name) + " " + std::to_string(rank) +
                           " is no rank; there are " + std::to_string(ranks));
    }
    return static_cast<std::size_t>(rank);
  }

  void Match() {
    using Key = std::tuple<std::size_t, std::size_t, std::int64_t>;
    std::map<Key, std::pair<std::deque<std::size_t>, std::deque<std::size_t>>>
        open;
    for (std::size_t v = 0; v < vertices_.size(); ++v) {
      const Vertex& vertex = vertices_[v];
      const ChakraNode& node = *vertex.node;
      if (!IsSend(node) && !IsReceive(node)) continue;
      CheckParties(vertex);
      const Key key{RankOr(node.comm_src, vertex.rank, node, "comm_src"),
                    RankOr(node.comm_dst, vertex.rank, node, "comm_dst"),
                    node.comm_tag};
      auto& [sends, receives] = open[key];
      (IsSend(node) ? sends : receives).push_back(v);
    }
    for (const auto& [key, both] : open) Pair(both.first, both.second);
  }

  void CheckParties(const Vertex& vertex) const {
    const ChakraNode& node = *vertex.node;
    const bool send = IsSend(node);
    const auto& peer = send ? node.comm_dst : node.comm_src;
    const auto& own = send ? node.comm_src : node.comm_dst;
    if (!peer) {
      throw InputError(node.where, std::string(ToText(node.type)) +
                                       " without " +
                                       (send ? "comm_dst" : "comm_src"));
    }
    const auto rank = static_cast<std::int64_t>(vertex.rank);
    if (own.value_or(rank) != rank || *peer == rank) {
      throw InputError(node.where,
                       std::string("a ") + ToText(node.type) + " from " +
                           std::to_string(node.comm_src.value_or(rank)) +
                           " to " +
                           std::to_string(node.comm_dst.value_or(rank)) +
                           " in the trace of rank " + std::to_string(rank));
    }
    if (send && node.comm_size.value_or(0) <= 0) {
      throw InputError(node.where, "COMM_SEND without comm_size");
    }
  }

  void Pair(const std::deque<std::size_t>& sends,
            const std::deque<std::size_t>& receives) {
    const std::size_t pairs = std::min(sends.size(), receives.size());
    if (sends.size() != receives.size()) {
      const auto& more = sends.size() > pairs ? sends : receives;
      const ChakraNode& node = *vertices_[more[pairs]].node;
      throw InputError(node.where, std::string("no rank has the partner of ") +
                                       ToText(node.type) + " \"" + node.name +
                                       "\", with its comm_src, comm_dst and "
                                       "comm_tag");
    }
    for (std::size_t i = 0; i < pairs; ++i) {
      Vertex& send = vertices_[sends[i]];
      Vertex& receive = vertices_[receives[i]];
      send.partner = receives[i];
      receive.partner = sends[i];
      receive.waits.push_back(sends[i]);
      const std::int64_t size = *send.node->comm_size;
      if (receive.node->comm_size.value_or(size) != size) {
        throw InputError(
            receive.node->where,
            "receives " + std::to_string(*receive.node->comm_size) +
                " bytes, its COMM_SEND has " + std::to_string(size));
      }
    }
  }

  // Every vertex after those that it waits for, else in file order.
  std::vector<std::size_t> Order() const {
    std::vector<std::size_t> missing(vertices_.size());
    std::vector<std::vector<std::size_t>> users(vertices_.size());
    using Entry = std::tuple<std::size_t, std::size_t, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    const auto push = [&](std::size_t v) {
      const Vertex& vertex = vertices_[v];
      const auto place = static_cast<std::size_t>(
          vertex.node - traces_[vertex.rank].nodes.data());
      ready.push({place, vertex.rank, v});
    };
    for (std::size_t v = 0; v < vertices_.size(); ++v) {
      missing[v] = vertices_[v].waits.size();
      for (const std::size_t wait : vertices_[v].waits) {
        users[wait].push_back(v);
      }
      if (missing[v] == 0) push(v);
    }
    std::vector<std::size_t> order;
    while (!ready.empty()) {
      const std::size_t v = std::get<2>(ready.top());
      ready.pop();
      order.push_back(v);
      for (const std::size_t user : users[v]) {
        if (--missing[user] == 0) push(user);
      }
    }
    for (std::size_t v = 0; v < vertices_.size(); ++v) {
      if (missing[v] == 0) continue;
      throw InputError(vertices_[v].node->where,
                       "the node waits in a circle of dependences");
    }
    return order;
  }

  void AddOps(const std::vector<std::size_t>& order) {
    std::vector<OpId> op_of(vertices_.size());
    const PatternId nothing = file_.schedule.AddRuns({});
    for (const std::size_t v : order) {
      const Vertex& vertex = vertices_[v];
      std::vector<OpId> after;
      for (const std::size_t wait : vertex.waits) after.push_back(op_of[wait]);
      std::sort(after.begin(), after.end());
      after.erase(std::unique(after.begin(), after.end()), after.end());
      if (IsReceive(*vertex.node) && vertex.waits.size() == 1) {
        op_of[v] = op_of[vertex.partner];
        continue;
      }
      op_of[v] = IsSend(*vertex.node) ? AddTransfer(vertex, nothing, after)
                                      : AddCompute(vertex, after);
      file_.op_places.push_back(vertex.node->where);
    }
  }

  OpId AddCompute(const Vertex& vertex, const std::vector<OpId>& after) {
    const ChipId chip(static_cast<std::uint32_t>(vertex.rank));
    return file_.schedule.AddCompute(
        chip, ChakraDuration(*vertex.node, file_.slice.parameters), after);
  }

  OpId AddTransfer(const Vertex& vertex, PatternId nothing,
                   const std::vector<OpId>& after) {
    const ChipId src(static_cast<std::uint32_t>(vertex.rank));
    const ChipId dst(
        static_cast<std::uint32_t>(vertices_[vertex.partner].rank));
    const auto route = Route(file_.slice.topology, src, dst, TieRule::kParity);
    if (!route) {
      throw InputError(vertex.node->where,
                       "no way from chip " + std::to_string(src.value()) +
                           " to chip " + std::to_string(dst.value()));
    }
    const std::int64_t size = *vertex.node->comm_size;
    const auto hops = static_cast<std::int64_t>(route->size());
    if (size > (INT64_MAX - byte_hops_) / hops) {
      throw InputError(vertex.node->where,
                       "the messages move more than 2^63 - 1 bytes over links");
    }
    byte_hops_ += size * hops;
    bytes_ += size;
    return file_.schedule.Add({.src = src,
                               .dst = dst,
                               .chunks = {nothing, ChipId(0)},
                               .bytes = Bytes(size)},
                              *route, after);
  }

  const std::vector<ChakraTrace>& traces_;
  ScheduleFile& file_;
  std::vector<Vertex> vertices_;
  std::int64_t bytes_ = 0;
  std::int64_t byte_hops_ = 0;
};

}  // namespace

bool HasMessages(const std::vector<ChakraTrace>& traces) {
  return std::ranges::any_of(traces, [](const ChakraTrace& trace) {
    return std::ranges::any_of(trace.nodes, [](const ChakraNode& node) {
      return !node.is_cpu_op && (node.type == ChakraNodeType::kCommSend ||
                                 node.type == ChakraNodeType::kCommRecv);
    });
  });
}

std::vector<std::vector<std::size_t>> DataDeps(const ChakraTrace& trace) {
  std::unordered_map<std::uint64_t, std::size_t> places;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    places.emplace(trace.nodes[i].id, i);
  }
  std::vector<std::vector<std::size_t>> deps(trace.nodes.size());
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    for (const std::uint64_t id : trace.nodes[i].data_deps) {
      const auto found = places.find(id);
      if (found == places.end()) {
        throw InputError(trace.nodes[i].where,
                         "data_deps names node " + std::to_string(id) +
                             ", which the trace does not have");
      }
      deps[i].push_back(found->second);
    }
  }
  return deps;
}

bool IsChakraMemory(const ChakraNode& node) {
  return !node.is_cpu_op && (node.type == ChakraNodeType::kMemLoad ||
                             node.type == ChakraNodeType::kMemStore);
}

Bytes ChakraMemoryBytes(const ChakraNode& node) {
  if (node.tensor_size) return Bytes(*node.tensor_size);
  throw InputError(node.where, std::string(ToText(node.type)) + " \"" +
                                   node.name + "\" has no tensor_size");
}

Seconds ChakraDuration(const ChakraNode& node, const Parameters& parameters) {
  if (node.is_cpu_op) return Seconds(0);
  if (IsChakraMemory(node)) {
    const ComputeWork access{.flops = {}, .hbm = ChakraMemoryBytes(node)};
    return RooflineTime(access, parameters, node.where);
  }
  if (node.type != ChakraNodeType::kComp) return Seconds(0);
  if (node.duration_s && *node.duration_s >= 0 && *node.duration_s < 1e9) {
    return Seconds(*node.duration_s);
  }
  if (node.duration_us > 0) {
    return Seconds(static_cast<double>(node.duration_us) * 1e-6);
  }
  ComputeWork work;
  if (node.num_ops) work.flops = Flops(static_cast<double>(*node.num_ops));
  if (node.tensor_size) work.hbm = Bytes(*node.tensor_size);
  if (!work.flops && !work.hbm) return Seconds(0);
  return RooflineTime(work, parameters, node.where);
}

ScheduleFile MakeChakraSchedule(const std::vector<ChakraTrace>& traces,
                                const SliceRequest& request) {
  ScheduleFile file{.slice = MakeSlice(request),
                    .schedule = {},
                    .meaning = {},
                    .violations = {}};
  const auto chips = static_cast<std::size_t>(file.slice.topology.chips());
  if (traces.size() != chips) {
    throw InputError(traces[0].file, "expected a trace per chip of " +
                                         file.slice.spec + ", " +
                                         std::to_string(chips) + ", found " +
                                         std::to_string(traces.size()));
  }
  file.meaning.kind = kMessages;
  file.meaning.groups.emplace_back();
  for (std::uint32_t chip = 0; chip < chips; ++chip) {
    file.meaning.groups[0].emplace_back(chip);
  }
  Messages(traces, file).Build();
  return file;
}

}  // namespace podsim
