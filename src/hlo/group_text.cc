#include "hlo/group_text.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "hlo/module.h"
#include "hlo/replica_groups.h"

namespace podsim {
namespace {

int ReadId(HloLexer& lexer) {
  lexer.SkipSpace();
  const std::size_t at = lexer.at();
  const std::int64_t id = lexer.Integer("an id of a device");
  if (id < 0 || id >= kMaxHloDevices) {
    lexer.Fail(at, "id " + std::to_string(id) + ", expected 0 to 131071");
  }
  return static_cast<int>(id);
}

// {1,2} with at most one id per device that there can be.
std::vector<int> ReadIds(HloLexer& lexer) {
  std::vector<int> ids;
  lexer.Expect('{', "before ids");
  if (lexer.Accept('}')) return ids;
  do {
    ids.push_back(ReadId(lexer));
  } while (lexer.Accept(','));
  lexer.Expect('}', "or ',' after an id");
  return ids;
}

// Runs `read` on all of `text`; errors name `attribute` and stand at `where`.
template <class Read>
auto ReadAll(std::string_view text, const std::string& where,
             const char* attribute, Read read) {
  constexpr std::size_t kExcerpt = 60;
  const std::string subject =
      std::string(attribute) + "=" + Shortened(text, kExcerpt) + ": ";
  HloLexer lexer(text, "");
  try {
    auto result = read(lexer);
    if (!lexer.AtEnd()) lexer.FailExpected(lexer.at(), "the end of the value");
    return result;
  } catch (const HloTextEnds& ends) {
    throw InputError(where,
                     subject + "the value ends, expected " + ends.expected);
  } catch (const InputError& error) {
    // Without the line and column, which count inside of the value.
    const std::string what = error.what();
    throw InputError(where, subject + what.substr(what.find(": ") + 2));
  }
}

ReplicaGroups ReadAnyGroups(HloLexer& lexer) {
  const char next = lexer.Peek();
  if (next == '{') return {ReplicaGroupsForm::kList, ReadGroupList(lexer)};
  if (next == '[') return {ReplicaGroupsForm::kIota, ReadIotaGroups(lexer)};
  const std::string_view word = lexer.PeekWord();
  if (word == "mesh" || word == "maximal_mesh") {
    return {ReplicaGroupsForm::kMesh, ReadMeshGroups(lexer)};
  }
  lexer.FailExpected(lexer.at(),
                     "groups such as {{0,1},{2,3}}, [2,2]<=[4] or "
                     "mesh['x'=4] {'x'}");
}

void CheckUniqueEnds(HloLexer& lexer, std::size_t at,
                     const std::vector<std::vector<int>>& pairs) {
  for (const std::size_t end : {0, 1}) {
    std::vector<int> ids;
    for (const auto& pair : pairs) ids.push_back(pair[end]);
    std::ranges::sort(ids);
    const auto twice = std::ranges::adjacent_find(ids);
    if (twice != ids.end()) {
      lexer.Fail(at, std::to_string(*twice) + " is a " +
                         (end == 0 ? "source" : "target") + " twice");
    }
  }
}

std::vector<std::pair<int, int>> ReadPairs(HloLexer& lexer) {
  lexer.SkipSpace();
  const std::size_t at = lexer.at();
  const std::vector<std::vector<int>> lists = ReadGroupList(lexer);
  std::vector<std::pair<int, int>> pairs;
  for (const auto& list : lists) {
    if (list.size() != 2) {
      lexer.Fail(at, "a pair of " + std::to_string(list.size()) +
                         " ids, expected {source,target}");
    }
    pairs.emplace_back(list[0], list[1]);
  }
  CheckUniqueEnds(lexer, at, lists);
  return pairs;
}

}  // namespace

std::vector<std::vector<int>> ReadGroupList(HloLexer& lexer) {
  std::vector<std::vector<int>> groups;
  lexer.Expect('{', "before groups");
  if (lexer.Accept('}')) return groups;
  do {
    groups.push_back(ReadIds(lexer));
  } while (lexer.Accept(','));
  lexer.Expect('}', "or ',' after a group");
  return groups;
}

std::vector<int> ReadDimensionList(HloLexer& lexer) {
  std::vector<int> dimensions;
  lexer.Expect('[', "before sizes");
  if (lexer.Accept(']')) return dimensions;
  do {
    lexer.SkipSpace();
    const std::size_t at = lexer.at();
    const std::int64_t size = lexer.Integer("a size");
    if (size < 1 || size > kMaxHloDevices) {
      lexer.Fail(at, "size " + std::to_string(size) + ", expected 1 to 131072");
    }
    dimensions.push_back(static_cast<int>(size));
  } while (lexer.Accept(','));
  lexer.Expect(']', "or ',' after a size");
  return dimensions;
}

std::vector<int> ReadOrder(HloLexer& lexer, std::size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (lexer.Peek() != 'T') return order;
  const std::size_t at = lexer.at();
  lexer.Accept('T');
  lexer.Expect('(', "after the T of a transposition");
  std::vector<int> sorted;
  order.clear();
  do {
    order.push_back(ReadId(lexer));
  } while (lexer.Accept(','));
  lexer.Expect(')', "or ',' in a transposition");
  sorted = order;
  std::ranges::sort(sorted);
  bool fits = sorted.size() == rank;
  for (std::size_t d = 0; fits && d < rank; ++d) {
    fits = sorted[d] == static_cast<int>(d);
  }
  if (!fits) {
    std::vector<std::string> names;
    for (const int d : order) names.push_back(std::to_string(d));
    lexer.Fail(at, "the transposition T(" + Shortened(Join(names, ","), 60) +
                       ") of " +
                       (rank == 0 ? "no dimensions, expected none"
                                  : std::to_string(rank) +
                                        " dimensions, expected each of 0 to " +
                                        std::to_string(rank - 1) + " once"));
  }
  return order;
}

int ProductOf(HloLexer& lexer, std::size_t at,
              const std::vector<int>& dimensions) {
  std::int64_t product = 1;
  for (const int size : dimensions) {
    product *= size;
    if (product > kMaxHloDevices) lexer.Fail(at, "more than 131072 devices");
  }
  return static_cast<int>(product);
}

std::vector<int> Transposed(const std::vector<int>& values,
                            const std::vector<int>& dimensions,
                            const std::vector<int>& order) {
  const std::size_t rank = dimensions.size();
  std::vector<int> strides(rank, 1);
  for (std::size_t d = rank; d-- > 1;) {
    strides[d - 1] = strides[d] * dimensions[d];
  }
  std::vector<int> result;
  result.reserve(values.size());
  std::vector<int> index(rank, 0);  // in the new order
  int at = 0;
  for (std::size_t count = 0; count < values.size(); ++count) {
    result.push_back(values[static_cast<std::size_t>(at)]);
    for (std::size_t d = rank; d-- > 0;) {  // the last one counts fastest
      const auto from = static_cast<std::size_t>(order[d]);
      at += strides[from];
      if (++index[d] < dimensions[from]) break;
      at -= strides[from] * dimensions[from];
      index[d] = 0;
    }
  }
  return result;
}

std::vector<int> TransposedIota(const std::vector<int>& dimensions,
                                const std::vector<int>& order) {
  std::vector<int> values(static_cast<std::size_t>(std::accumulate(
      dimensions.begin(), dimensions.end(), 1, std::multiplies<>())));
  std::iota(values.begin(), values.end(), 0);
  return Transposed(values, dimensions, order);
}

std::vector<std::vector<int>> CutIntoGroups(const std::vector<int>& values,
                                            int size) {
  std::vector<std::vector<int>> groups;
  for (auto at = values.begin(); at != values.end(); at += size) {
    groups.emplace_back(at, at + size);
  }
  return groups;
}

std::vector<std::vector<int>> ReadIotaGroups(HloLexer& lexer) {
  lexer.SkipSpace();
  const std::size_t at = lexer.at();
  const std::vector<int> shape = ReadDimensionList(lexer);
  if (shape.size() != 2) {
    lexer.Fail(at, std::to_string(shape.size()) +
                       " sizes before \"<=\", expected [groups,members]");
  }
  lexer.Expect("<=", "after [groups,members]");
  lexer.SkipSpace();
  const std::size_t iota_at = lexer.at();
  const std::vector<int> dimensions = ReadDimensionList(lexer);
  const std::vector<int> order = ReadOrder(lexer, dimensions.size());
  const int devices = ProductOf(lexer, iota_at, dimensions);
  if (ProductOf(lexer, at, shape) != devices) {
    lexer.Fail(at, std::to_string(shape[0]) + " groups of " +
                       std::to_string(shape[1]) + " are not the " +
                       std::to_string(devices) + " devices after \"<=\"");
  }
  return CutIntoGroups(TransposedIota(dimensions, order), shape[1]);
}

ReplicaGroups ParseReplicaGroups(std::string_view text,
                                 const std::string& where) {
  return ReadAll(text, where, "replica_groups", ReadAnyGroups);
}

std::vector<std::pair<int, int>> ParseSourceTargetPairs(
    std::string_view text, const std::string& where) {
  return ReadAll(text, where, "source_target_pairs", ReadPairs);
}

}  // namespace podsim
