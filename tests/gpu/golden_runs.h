#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/token.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/tests/fixture/golden_model.h"

namespace weft::test {

/// The norm of what two rows differ by, as a part of the second one's.
inline double relative_error(const std::vector<float>& got, const std::vector<float>& wanted) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double each = static_cast<double>(got[i]) - static_cast<double>(wanted[i]);
    difference += each * each;
    norm += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
  }
  return std::sqrt(difference / norm);
}

/// Returns the results after each of `ids`, fed in pieces of at most `piece` tokens.
inline ReferenceNumbers::Rows feed_in_pieces(SequenceRunner& runner, std::span<const TokenId> ids,
                                             std::size_t piece) {
  ReferenceNumbers::Rows rows;
  const auto keep = [&](ConstRows results) {
    for (std::int64_t i = 0; i < results.count; ++i) {
      rows.emplace_back(results.row(i), results.row(i) + results.width);
    }
  };
  const auto whole = static_cast<std::int64_t>(ids.size());
  while (!ids.empty()) {
    const std::size_t count = std::min(piece, ids.size());
    runner.feed(ids.first(count), keep, false, whole).value();
    ids = ids.subspan(count);
  }
  return rows;
}

}  // namespace weft::test
