#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/cuda/runtime/resources.h"

namespace weft::cuda {

/// Places for pages in page-locked host memory, numbered after a GPU's own pages, and the kernel's
/// parameters for copies between both. A page of many layers is one part of a launch.
///
/// Throws Failure. Allocates in the constructor alone. Owner only.
class PagePlaces {
 public:
  /// `layout` and `runtime` belong to the same GPU, which has `pages` pages. A launch has at most
  /// `most_copies` copies. kOutOfMemory.
  PagePlaces(Runtime& runtime, const Layout& layout, std::int32_t pages, std::int32_t places,
             std::size_t most_copies);

  /// The bytes of the places, in all layers.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// Copies in `stream`, in any order. A launch reads its list of copies while it runs, so the
  /// previous launch must have ended.
  void copy(std::span<const PageCopy> copies, Stream stream);

 private:
  Runtime& runtime_;
  const std::int32_t pages_;
  const std::int32_t block_count_;
  OwnedPinned memory_;  // the places and the kernel's parameters
  PageBlocks* blocks_ = nullptr;
  PageCopy* copies_ = nullptr;
  std::span<std::byte> bytes_;
};

}  // namespace weft::cuda
