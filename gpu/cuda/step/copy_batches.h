#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/kernels/cuda/copy_cuda.h"

namespace weft::cuda {

/// Cuts a list of copies, which are to be done one after the other, into batches that a GPU may do
/// in any order. Owner only. Allocates only in the constructor.
class CopyBatches {
 public:
  /// Copies use pages 0 .. `pages` - 1.
  explicit CopyBatches(std::int64_t pages)
      : source_of_(static_cast<std::size_t>(pages)), target_of_(static_cast<std::size_t>(pages)) {}

  /// Returns how many copies from the front, at most `most`, have no page that is both source and
  /// target.
  [[nodiscard]] std::size_t next(std::span<const PageCopy> copies, std::size_t most) {
    ++batch_;
    std::size_t count = 0;
    for (const PageCopy& copy : copies) {
      const auto from = static_cast<std::size_t>(copy.from);
      const auto to = static_cast<std::size_t>(copy.to);
      if (target_of_[from] == batch_ || target_of_[to] == batch_ || source_of_[to] == batch_ ||
          count == most) {
        break;
      }
      source_of_[from] = batch_;
      target_of_[to] = batch_;
      ++count;
    }
    return count;
  }

 private:
  // By page: the last batch with this page as source or target.
  std::vector<std::uint32_t> source_of_, target_of_;
  std::uint32_t batch_ = 0;
};

}  // namespace weft::cuda
