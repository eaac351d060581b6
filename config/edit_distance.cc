#include "weft/config/edit_distance.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace weft {
namespace {

constexpr std::size_t kMostBytes = 64;

}  // namespace

std::size_t edit_distance(std::string_view left, std::string_view right) noexcept {
  left = left.substr(0, kMostBytes);
  right = right.substr(0, kMostBytes);
  // Distances between the prefix of `left` read so far and each prefix of `right`.
  std::array<std::size_t, kMostBytes + 1> row{};
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t changed = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row[right.size()];
}

}  // namespace weft
