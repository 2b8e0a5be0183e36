#include "collective/byte_matrix.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/parse_units.h"
#include "base/text.h"
#include "collective/groups.h"
#include "schedule/chunk_split.h"
#include "schedule/fingerprint.h"

namespace podsim {
namespace {

constexpr std::uint64_t kUnit = std::uint64_t{1} << 20;  // the largest weight
// So that the weights of a row, and their products, fit 64 bits.
constexpr int kMostRanks = 4096;
constexpr double kMostSkew = 16;

struct DistributionRow {
  DistributionName name;
  const char* text;
  std::vector<std::string> keys;
};

const std::vector<DistributionRow>& Distributions() {
  static const std::vector<DistributionRow> rows = {
      {DistributionName::kEqual, "equal", {}},
      {DistributionName::kUniform, "uniform", {"seed"}},
      {DistributionName::kZipf, "zipf", {"skew", "seed"}}};
  return rows;
}

const DistributionRow& FindDistribution(const std::string& text,
                                        const std::string& where) {
  std::vector<std::string> known;
  for (const DistributionRow& row : Distributions()) {
    if (text == row.text) return row;
    known.emplace_back(row.text);
  }
  throw InputError(where, "unknown distribution \"" + text +
                              "\"; did you mean \"" + Nearest(text, known) +
                              "\"? (known: " + Join(known, ", ") + ")");
}

void RequireKey(const DistributionRow& row, const std::string& key,
                const std::string& where) {
  if (std::find(row.keys.begin(), row.keys.end(), key) != row.keys.end()) {
    return;
  }
  throw InputError(where,
                   std::string(row.text) + " has no parameter \"" + key + "\"" +
                       (row.keys.empty() ? "; it takes none"
                                         : "; known: " + Join(row.keys, ", ")));
}

double RequireSkew(double skew, const std::string& where) {
  if (skew >= 0 && skew <= kMostSkew) return skew;
  throw InputError(where, "expected a skew from 0 to " + Exact(kMostSkew) +
                              ", got " + Exact(skew));
}

double ParseSkew(const std::string& text, const std::string& where) {
  double skew = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, skew);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(skew)) {
    throw InputError(where, "expected a number, got \"" + text + "\"");
  }
  return RequireSkew(skew, where);
}

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  // 0 <= result < below <= 2^32, from the upper half.
  std::uint64_t Below(std::uint64_t below) {
    const std::uint64_t drawn = Mix(state_);
    state_ += 0x9e3779b97f4a7c15ULL;
    return (drawn >> 32) * below >> 32;
  }

 private:
  std::uint64_t state_;
};

std::vector<std::uint64_t> ZipfWeights(double skew, int n, Draws& draws) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (int k = n - 1; k > 0; --k) {
    std::swap(order[k], order[draws.Below(static_cast<std::uint64_t>(k) + 1)]);
  }
  std::vector<std::uint64_t> weights(n);
  for (int k = 0; k < n; ++k) {
    const double weight =
        std::round(static_cast<double>(kUnit) * std::pow(k + 1, -skew));
    weights[order[k]] =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(weight));
  }
  return weights;
}

// The whole part of bytes x weight / all.
std::uint64_t Share(std::uint64_t bytes, std::uint64_t weight,
                    std::uint64_t all) {
  return bytes / all * weight + bytes % all * weight / all;
}

std::vector<Bytes> SplitByWeights(Bytes bytes,
                                  const std::vector<std::uint64_t>& weights) {
  const auto whole = static_cast<std::uint64_t>(bytes.value());
  const std::uint64_t all =
      std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::vector<Bytes> parts;
  std::uint64_t before = 0, sent = 0;
  for (const std::uint64_t weight : weights) {
    before += weight;
    const std::uint64_t until = Share(whole, before, all);
    parts.emplace_back(static_cast<std::int64_t>(until - sent));
    sent = until;
  }
  return parts;
}

Bytes SumOf(const ByteMatrix& matrix, const std::string& where) {
  std::int64_t sum = 0;
  for (const auto& row : matrix) {
    for (const Bytes bytes : row) {
      if (bytes.value() > std::numeric_limits<std::int64_t>::max() - sum) {
        throw InputError(where,
                         "the entries add up to more than 9223372036854775807B"
                         "; take smaller ones");
      }
      sum += bytes.value();
    }
  }
  return Bytes(sum);
}

}  // namespace

Distribution ParseDistribution(const std::string& text,
                               const std::string& where) {
  const auto colon = text.find(':');
  const DistributionRow& row = FindDistribution(text.substr(0, colon), where);
  Distribution distribution{.name = row.name};
  if (colon == std::string::npos) return distribution;
  std::vector<std::string> seen;
  for (const std::string& entry : Split(text.substr(colon + 1), ',')) {
    const auto equals = entry.find('=');
    const std::string key = entry.substr(0, equals);
    RequireKey(row, key, where);
    if (equals == std::string::npos) {
      throw InputError(where, "expected " + key + "=VALUE in \"" + text + "\"");
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      throw InputError(where, key + " stands twice in \"" + text + "\"");
    }
    seen.push_back(key);
    const std::string value = entry.substr(equals + 1);
    if (key == "skew") {
      distribution.skew = ParseSkew(value, where + ": skew");
    } else {
      distribution.seed = static_cast<std::uint64_t>(ParseCount(
          value, 0, std::numeric_limits<int>::max(), where + ": seed"));
    }
  }
  return distribution;
}

Distribution ReadDistribution(const JsonValue& json) {
  json.RejectUnknownKeys({"name", "bytes", "skew", "seed"});
  const JsonValue name = json.Get("name");
  const DistributionRow& row = FindDistribution(name.AsString(), name.where());
  Distribution distribution{.name = row.name};
  if (const auto skew = json.Find("skew")) {
    RequireKey(row, "skew", skew->where());
    distribution.skew = RequireSkew(skew->AsNumber(), skew->where());
  }
  if (const auto seed = json.Find("seed")) {
    RequireKey(row, "seed", seed->where());
    distribution.seed = static_cast<std::uint64_t>(
        seed->AsInteger(0, std::numeric_limits<int>::max()));
  }
  return distribution;
}

ByteMatrix MakeMatrix(const Distribution& distribution, int n, Bytes sum) {
  Draws draws(distribution.seed);
  std::vector<std::uint64_t> weights(n, 1);
  if (distribution.name == DistributionName::kZipf) {
    weights = ZipfWeights(distribution.skew, n, draws);
  }
  ByteMatrix matrix;
  for (const Bytes row : SplitEvenly(sum, n)) {
    if (distribution.name == DistributionName::kUniform) {
      for (std::uint64_t& weight : weights) weight = 1 + draws.Below(kUnit);
    }
    matrix.push_back(SplitByWeights(row, weights));
  }
  return matrix;
}

ByteMatrix ReadMatrix(const JsonValue& json) {
  ByteMatrix matrix;
  const std::vector<JsonValue> rows = json.Elements();
  for (const JsonValue& row : rows) {
    matrix.emplace_back();
    for (const JsonValue& entry : row.Elements()) {
      matrix.back().push_back(entry.AsBytes());
    }
    if (matrix.back().size() == rows.size()) continue;
    row.Fail("expected " + std::to_string(rows.size()) +
             " entries, one per row of the matrix, got " +
             std::to_string(matrix.back().size()));
  }
  return matrix;
}

ByteMatrix Transposed(const ByteMatrix& matrix) {
  ByteMatrix transposed = matrix;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      transposed[j][i] = matrix[i][j];
    }
  }
  return transposed;
}

int RanksOfMatrix(const Collective& collective, const Topology& topology,
                  const std::string& where) {
  const auto groups = GroupsOf(collective, topology);
  for (const auto& group : groups) {
    if (group.size() == groups[0].size()) continue;
    throw InputError(where,
                     "groups of ragged-all-to-all are equally large, and dead "
                     "chips leave one of " +
                         std::to_string(groups[0].size()) + " and one of " +
                         std::to_string(group.size()) +
                         "; give equal groups as lists");
  }
  if (groups[0].size() > kMostRanks) {
    throw InputError(where, "expected groups of at most " +
                                std::to_string(kMostRanks) + " chips, got " +
                                std::to_string(groups[0].size()) +
                                "; take groups along some axes");
  }
  return static_cast<int>(groups[0].size());
}

void SetMatrix(ByteMatrix matrix, const Topology& topology,
               const std::string& where, Collective& collective) {
  const int ranks = RanksOfMatrix(collective, topology, where);
  if (static_cast<int>(matrix.size()) != ranks) {
    throw InputError(where, "expected " + std::to_string(ranks) +
                                " rows, one per chip of a group, got " +
                                std::to_string(matrix.size()));
  }
  collective.payload = SumOf(matrix, where);
  collective.matrix = std::move(matrix);
}

void RejectMatrix(CollectiveKind kind, const std::string& where) {
  if (kind == CollectiveKind::kRaggedAllToAll) return;
  throw InputError(where, std::string(ToText(kind)) +
                              " has no byte matrix; ragged-all-to-all has");
}

}  // namespace podsim
