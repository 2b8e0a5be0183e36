// Reader of ASTRA-sim's network files, from the events of yaml-cpp: its nodes
// know no keys that stand twice, and take hundreds of bytes for each of text.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <istream>
#include <map>
#include <streambuf>

#include "base/error.h"
#include "base/text.h"
#include "topology/astra_network.h"

namespace podsim {
namespace {

constexpr std::size_t kMostEntries = 64;  // of a list; ASTRA-sim's have 1 to 4
constexpr std::size_t kExcerptLength = 60;

const std::vector<std::string> kKeys = {"topology", "npus_count", "bandwidth",
                                        "latency"};

struct Entry {
  std::string text;
  std::string where;
};

struct List {
  std::string where;  // of the key
  std::vector<Entry> entries;
};

std::string Quoted(const std::string& text) {
  return "\"" + Shortened(text, kExcerptLength) + "\"";
}

// A mapping of the four keys to lists of scalars, nothing else.
class ListHandler : public YAML::EventHandler {
 public:
  explicit ListHandler(const std::string& file) : file_(file) {}

  const std::map<std::string, List>& lists() const { return lists_; }

  std::string Where(const YAML::Mark& mark) const {
    return file_ + ":" + std::to_string(mark.line + 1) + ":" +
           std::to_string(mark.column + 1);
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    Reject(mark, in_list_ ? "nothing (is a bracket missing?)" : "nothing");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Reject(mark, "an alias (*)");
  }

  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    if (in_list_) {
      if (list_->entries.size() == kMostEntries) {
        throw InputError(Where(mark),
                         "expected a dimension per entry, found more than " +
                             std::to_string(kMostEntries));
      }
      list_->entries.push_back({value, Where(mark)});
    } else if (in_map_ && list_ == nullptr) {
      StartKey(mark, value);
    } else {
      Reject(mark, Quoted(value));
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&,
                       YAML::anchor_t, YAML::EmitterStyle::value) override {
    if (list_ == nullptr || in_list_) Reject(mark, "a list");
    in_list_ = true;
  }
  void OnSequenceEnd() override {
    in_list_ = false;
    list_ = nullptr;
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    if (in_map_) Reject(mark, "a mapping");
    in_map_ = true;
  }
  void OnMapEnd() override {}

 private:
  void StartKey(const YAML::Mark& mark, const std::string& key) {
    if (std::ranges::find(kKeys, key) == kKeys.end()) {
      throw InputError(Where(mark),
                       "unknown key " + Quoted(key) + "; did you mean \"" +
                           Nearest(key, kKeys) +
                           "\"? (known: " + Join(kKeys, ", ") + ")");
    }
    const auto [at, fresh] = lists_.insert({key, {Where(mark), {}}});
    if (!fresh) {
      throw InputError(Where(mark), "the key \"" + key +
                                        "\" stands twice, first at " +
                                        at->second.where + "; remove one");
    }
    key_ = key;
    list_ = &at->second;
  }

  [[noreturn]] void Reject(const YAML::Mark& mark, const std::string& found) {
    std::string expected =
        "a mapping with the keys " + Join(kKeys, ", ") + " of a network file";
    if (in_list_) {
      expected =
          key_ == "topology" ? "Ring, FullyConnected or Switch" : "a number";
    } else if (list_ != nullptr) {
      expected =
          "a list in brackets, an entry per dimension, such as " +
          std::string(key_ == "topology" ? "[ Ring, Ring ]" : "[ 4, 8 ]");
    } else if (in_map_) {
      expected = "one of the keys " + Join(kKeys, ", ");
    }
    throw InputError(Where(mark), "expected " + expected + ", found " + found);
  }

  const std::string& file_;
  std::map<std::string, List> lists_;
  std::string key_;
  bool in_map_ = false;
  bool in_list_ = false;
  List* list_ = nullptr;  // of the last key, until it ends
};

// The text where it is, as a stream.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // only read
    setg(begin, begin, begin + text.size());
  }
};

void ReadEvents(std::string_view text, const std::string& file,
                ListHandler& handler) {
  ViewBuffer buffer(text);
  std::istream stream(&buffer);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(handler)) {
      throw InputError(
          file, "expected the keys " + Join(kKeys, ", ") + ", found nothing");
    }
  } catch (const YAML::Exception& error) {
    throw InputError(handler.Where(error.mark), "is no YAML: " + error.msg);
  }
}

AstraShape ParseShapeName(const Entry& entry) {
  constexpr std::array<std::pair<const char*, AstraShape>, 3> kShapes = {
      {{"Ring", AstraShape::kRing},
       {"FullyConnected", AstraShape::kFullyConnected},
       {"Switch", AstraShape::kSwitch}}};
  std::vector<std::string> names;
  for (const auto& [name, shape] : kShapes) {
    if (entry.text == name) return shape;
    names.emplace_back(name);
  }
  const auto similar = Similar(entry.text, names);
  throw InputError(entry.where,
                   "expected " + Join(names, ", ") + ", found " +
                       Quoted(entry.text) +
                       (similar ? "; did you mean " + *similar + "?" : ""));
}

double ParseNumber(const Entry& entry, const char* what) {
  double value = 0;
  const char* end = entry.text.data() + entry.text.size();
  const auto [at, error] = std::from_chars(entry.text.data(), end, value);
  if (error != std::errc() || at != end || !std::isfinite(value)) {
    throw InputError(entry.where, std::string("expected ") + what +
                                      " without its unit, found " +
                                      Quoted(entry.text));
  }
  return value;
}

int ParseNpus(const Entry& entry) {
  int value = 0;
  const char* end = entry.text.data() + entry.text.size();
  const auto [at, error] = std::from_chars(entry.text.data(), end, value);
  if (error != std::errc() || at != end || value < 1 || value > kMaxChips) {
    throw InputError(entry.where, "expected a whole number of NPUs from 1 to " +
                                      std::to_string(kMaxChips) + ", found " +
                                      Quoted(entry.text));
  }
  return value;
}

double ParseBandwidthEntry(const Entry& entry) {
  const double value = ParseNumber(entry, "GB/s (of 2^30 bytes)");
  // 2^-30 to 2^30: what a link may have, and what bytes/s can say.
  if (!(value >= 1e-9 && value <= 1e9)) {
    throw InputError(entry.where, "expected GB/s from 1e-9 to 1e9, found " +
                                      Quoted(entry.text) +
                                      "; a link that is not there has no "
                                      "dimension");
  }
  return value;
}

double ParseLatencyEntry(const Entry& entry) {
  const double value = ParseNumber(entry, "ns");
  if (!(value >= 0 && value <= 1e12)) {
    throw InputError(entry.where,
                     "expected ns from 0 to 1e12, found " + Quoted(entry.text));
  }
  return value;
}

const List& Required(const std::map<std::string, List>& lists,
                     const std::string& key, const std::string& file) {
  const auto found = lists.find(key);
  if (found == lists.end()) {
    throw InputError(file, "the key \"" + key +
                               "\" is missing; add it, an "
                               "entry per dimension (version 1 networks in "
                               "JSON are not read)");
  }
  return found->second;
}

}  // namespace

bool IsAstraNetworkFile(const std::string& path) {
  return path.ends_with(".yml") || path.ends_with(".yaml");
}

AstraNetwork ParseAstraNetwork(std::string_view text, const std::string& file) {
  ListHandler handler(file);
  ReadEvents(text, file, handler);
  const auto& lists = handler.lists();
  const List& topology = Required(lists, "topology", file);
  const std::size_t dimensions = topology.entries.size();
  if (dimensions == 0) {
    throw InputError(topology.where,
                     "expected at least one dimension, found "
                     "[]");
  }
  for (const std::string& key : kKeys) {
    const List& list = Required(lists, key, file);
    if (list.entries.size() == dimensions) continue;
    throw InputError(list.where, "expected " + std::to_string(dimensions) +
                                     " entries in \"" + key +
                                     "\", as many as in \"topology\", found " +
                                     std::to_string(list.entries.size()));
  }
  AstraNetwork network{.file = file, .dimensions = {}};
  for (std::size_t d = 0; d < dimensions; ++d) {
    const Entry& npus = lists.at("npus_count").entries[d];
    const Entry& bandwidth = lists.at("bandwidth").entries[d];
    const Entry& latency = lists.at("latency").entries[d];
    network.dimensions.push_back({.shape = ParseShapeName(topology.entries[d]),
                                  .npus = ParseNpus(npus),
                                  .gib_per_s = ParseBandwidthEntry(bandwidth),
                                  .latency_ns = ParseLatencyEntry(latency),
                                  .where = topology.entries[d].where,
                                  .npus_where = npus.where,
                                  .bandwidth_where = bandwidth.where,
                                  .latency_where = latency.where});
  }
  return network;
}

}  // namespace podsim
