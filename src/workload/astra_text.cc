// Reader of ASTRA-sim's text workloads.
#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "workload/astra.h"

namespace podsim {
namespace {

constexpr std::int64_t kMostTime = 1'000'000'000'000'000;  // ns: 12 days
constexpr std::int64_t kMostBytes = std::int64_t{1} << 53;
constexpr int kMostLayers = 1 << 20;
constexpr int kColumns = 12;

const std::vector<std::string> kKeywords = {"MICRO",
                                            "DATA",
                                            "MODEL",
                                            "HYBRID_DATA_MODEL",
                                            "HYBRID_MODEL_DATA",
                                            "HYBRID_TRANSFORMER",
                                            "HYBRID_CUSTOMIZED"};
// Those whose layers wait for one another in ways a step here does not.
const std::vector<std::string> kNotModelled = {
    "HYBRID_DLRM", "HYBRID_TRANSFORMER_FWD_IN_BCKWD"};
const std::vector<std::string> kLayerKeywords = {
    "DATA", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA"};

struct Word {
  std::string_view text;
  int line = 0;
  int column = 0;
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : rest_(text), file_(file) {}

  AstraText Read() {
    AstraText result;
    result.file = file_;
    ReadHeader(result);
    const int layers = ReadCount();
    while (true) {
      const std::vector<Word> words = NextLine();
      if (words.empty()) break;
      if (static_cast<int>(result.layers.size()) == layers) {
        Fail(words[0], "expected no more than the " + std::to_string(layers) +
                           " layers of line 2, found another line; correct "
                           "the count");
      }
      result.layers.push_back(
          ReadLayer(words, result.parallelism == "HYBRID_CUSTOMIZED"));
    }
    if (static_cast<int>(result.layers.size()) < layers) {
      throw InputError(file_ + ":" + std::to_string(line_),
                       "expected the " + std::to_string(layers) +
                           " layers of line 2, found " +
                           std::to_string(result.layers.size()) +
                           "; correct the count, or the file is cut");
    }
    return result;
  }

 private:
  std::string Where(const Word& word) const {
    return file_ + ":" + std::to_string(word.line) + ":" +
           std::to_string(word.column);
  }
  [[noreturn]] void Fail(const Word& word, const std::string& what) const {
    throw InputError(Where(word), what);
  }
  static std::string Quoted(const Word& word) {
    return "\"" + Shortened(word.text, 60) + "\"";
  }

  // The words of the next line that has some; none at the end.
  std::vector<Word> NextLine() {
    std::vector<Word> words;
    while (words.empty() && !rest_.empty()) {
      ++line_;
      const std::string_view line = rest_.substr(0, rest_.find('\n'));
      rest_.remove_prefix(std::min(line.size() + 1, rest_.size()));
      constexpr std::string_view kBlank = " \t\r";
      std::size_t begin = line.find_first_not_of(kBlank);
      while (begin != std::string_view::npos) {
        const std::size_t end =
            std::min(line.find_first_of(kBlank, begin), line.size());
        if (words.size() > kMostWords) break;
        words.push_back({line.substr(begin, end - begin), line_,
                         static_cast<int>(begin) + 1});
        begin = line.find_first_not_of(kBlank, end);
      }
    }
    return words;
  }

  std::int64_t Number(const Word& word, const char* what, std::int64_t min,
                      std::int64_t max) const {
    std::int64_t value = 0;
    const char* end = word.text.data() + word.text.size();
    const auto [at, error] = std::from_chars(word.text.data(), end, value);
    if (error != std::errc() || at != end || value < min || value > max) {
      Fail(word, "expected " + std::string(what) + ", a whole number from " +
                     std::to_string(min) + " to " + std::to_string(max) +
                     ", found " + Quoted(word));
    }
    return value;
  }

  void ReadHeader(AstraText& result) {
    const std::vector<Word> words = NextLine();
    if (words.empty()) {
      throw InputError(file_, "expected a parallelism on line 1 (" +
                                  Join(kKeywords, ", ") + "), found nothing");
    }
    const Word& keyword = words[0];
    result.parallelism = std::string(keyword.text);
    result.where = Where(keyword);
    if (std::ranges::find(kNotModelled, keyword.text) != kNotModelled.end()) {
      Fail(keyword, Quoted(keyword) + " is not modelled; expected one of " +
                        Join(kKeywords, ", "));
    }
    if (std::ranges::find(kKeywords, keyword.text) == kKeywords.end()) {
      const auto similar = Similar(keyword.text, kKeywords);
      Fail(keyword, "expected a parallelism (" + Join(kKeywords, ", ") +
                        "), found " + Quoted(keyword) +
                        (similar ? "; did you mean " + *similar + "?" : ""));
    }
    for (std::size_t k = 1; k < words.size(); ++k) {
      result.options.emplace_back(words[k].text);
    }
    if (result.parallelism != "HYBRID_TRANSFORMER") {
      if (words.size() > 1) {
        Fail(words[1], result.parallelism + " has no options, found " +
                           Quoted(words[1]) + "; remove it");
      }
      return;
    }
    constexpr std::string_view kGroup = "model_parallel_NPU_group:";
    if (words.size() != 3 || words[1].text != kGroup) {
      Fail(words.size() > 1 ? words[words.size() > 3 ? 3 : 1] : keyword,
           "expected \"HYBRID_TRANSFORMER model_parallel_NPU_group: G\", G "
           "NPUs that share a model, found " +
               std::to_string(words.size() - 1) + " words after the first");
    }
    result.group = static_cast<int>(
        Number(words[2], "the NPUs that share a model", 1, kMaxChips));
  }

  int ReadCount() {
    const std::vector<Word> words = NextLine();
    if (words.empty()) {
      throw InputError(file_,
                       "expected the number of layers on line 2, found "
                       "nothing");
    }
    if (words.size() > 1) {
      Fail(words[1], "expected the number of layers alone, found " +
                         Quoted(words[1]) + " after it");
    }
    return static_cast<int>(
        Number(words[0], "the number of layers", 1, kMostLayers));
  }

  AstraPhase ReadPhase(const std::vector<Word>& words, std::size_t at) const {
    AstraPhase phase;
    phase.compute = Number(words[at], "a compute time", 0, kMostTime);
    const Word& comm = words[at + 1];
    phase.where = Where(comm);
    phase.comm = CommOf(comm);
    phase.bytes = Number(words[at + 2], "bytes", 0, kMostBytes);
    if (!phase.comm && phase.bytes != 0) {
      Fail(words[at + 2], "expected 0 bytes after NONE, found " +
                              Quoted(words[at + 2]) +
                              "; name the collective, or write 0");
    }
    return phase;
  }

  std::optional<CollectiveKind> CommOf(const Word& word) const {
    struct Name {
      const char* text;
      std::optional<CollectiveKind> kind;
    };
    static const Name kNames[] = {
        {"NONE", std::nullopt},
        {"ALLREDUCE", CollectiveKind::kAllReduce},
        {"ALLGATHER", CollectiveKind::kAllGather},
        {"REDUCESCATTER", CollectiveKind::kReduceScatter},
        {"ALLTOALL", CollectiveKind::kAllToAll}};
    std::vector<std::string> names;
    for (const Name& name : kNames) {
      if (word.text == name.text) return name.kind;
      names.emplace_back(name.text);
    }
    if (word.text == "ALLREDUCEALLTOALL") {
      Fail(word,
           "two collectives in one are not modelled; split the layer in "
           "two, one with each");
    }
    const auto similar = Similar(word.text, names);
    Fail(word, "expected " + Join(names, ", ") + ", found " + Quoted(word) +
                   (similar ? "; did you mean " + *similar + "?" : ""));
  }

  AstraLayer ReadLayer(const std::vector<Word>& words, bool customized) const {
    const std::size_t columns = kColumns + (customized ? 1 : 0);
    if (words.size() != columns) {
      Fail(words[words.size() > columns ? columns : 0],
           "expected " + std::to_string(columns) +
               " columns: name, -1, then compute time, collective and bytes "
               "of forward, input gradient and weight gradient, then update "
               "time" +
               (customized ? ", parallelism" : "") + "; found " +
               (words.size() > kMostWords
                    ? "more than " + std::to_string(kMostWords)
                    : std::to_string(words.size())));
    }
    Number(words[1], "the dependence, which is not used", -1,
           std::numeric_limits<int>::max());
    AstraLayer layer{.name = std::string(words[0].text),
                     .forward = ReadPhase(words, 2),
                     .input_gradient = ReadPhase(words, 5),
                     .weight_gradient = ReadPhase(words, 8)};
    layer.update = Number(words[11], "an update time", 0, kMostTime);
    layer.where = Where(words[0]);
    layer.columns = static_cast<int>(words.size());
    if (!customized) return layer;
    const Word& keyword = words[kColumns];
    if (std::ranges::find(kLayerKeywords, keyword.text) ==
        kLayerKeywords.end()) {
      Fail(keyword, "expected the parallelism of the layer (" +
                        Join(kLayerKeywords, ", ") + "), found " +
                        Quoted(keyword));
    }
    layer.parallelism = std::string(keyword.text);
    return layer;
  }

  static constexpr std::size_t kMostWords = 32;  // of a line that are looked at

  std::string_view rest_;
  const std::string& file_;
  int line_ = 0;
};

}  // namespace

AstraText ParseAstraText(std::string_view text, const std::string& file) {
  return Reader(text, file).Read();
}

}  // namespace podsim
