#ifndef PODSIM_STEP_INDEX_LISTS_H_
#define PODSIM_STEP_INDEX_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace podsim {

// Rows of indices in one array. Rows are written one after the other: append to
// `items`, then EndRow().
struct IndexLists {
  std::vector<std::uint32_t> first = {0};  // of each row, and the end
  std::vector<std::uint32_t> items;

  std::size_t rows() const { return first.size() - 1; }
  std::span<const std::uint32_t> operator[](std::size_t row) const {
    return {items.data() + first[row], items.data() + first[row + 1]};
  }
  void EndRow() { first.push_back(static_cast<std::uint32_t>(items.size())); }
};

// Row j of the result lists the rows of `lists` that contain j, ascending.
inline IndexLists Transposed(const IndexLists& lists, std::size_t rows) {
  IndexLists result;
  result.first.assign(rows + 1, 0);
  for (const std::uint32_t item : lists.items) ++result.first[item + 1];
  for (std::size_t k = 0; k < rows; ++k) {
    result.first[k + 1] += result.first[k];
  }
  result.items.resize(lists.items.size());
  std::vector<std::uint32_t> next(result.first.begin(), result.first.end() - 1);
  for (std::size_t row = 0; row < lists.rows(); ++row) {
    for (const std::uint32_t item : lists[row]) {
      result.items[next[item]++] = static_cast<std::uint32_t>(row);
    }
  }
  return result;
}

}  // namespace podsim

#endif  // PODSIM_STEP_INDEX_LISTS_H_
