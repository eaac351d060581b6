#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// The pages of a device for files. give() and take() copy the bytes of one page in all layers.
/// Only a device of the same kind can interpret these bytes.
///
/// One thread at a time calls it; that need not be the device's thread. While give() copies a page,
/// no thread writes to it. While take() copies a page, no other thread uses it.
class PageMemory {
 public:
  PageMemory() = default;
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;
  virtual ~PageMemory() = default;

  [[nodiscard]] virtual std::size_t page_bytes() const noexcept = 0;
  /// Copies the page's bytes to `to`, which has page_bytes() bytes. The device's errors.
  [[nodiscard]] virtual Result<void> give(std::int32_t page, std::span<std::byte> to) = 0;
  /// Copies `from`, which give() has filled, to the page. The device's errors.
  [[nodiscard]] virtual Result<void> take(std::int32_t page, std::span<const std::byte> from) = 0;
};

/// The memory of one part of each page: the part of page p begins at first + p * bytes.
struct PageBlock {
  std::byte* first = nullptr;
  std::size_t bytes = 0;
};

/// Pages in memory that the host addresses. Its calls do not fail.
class HostPageMemory final : public PageMemory {
 public:
  /// A page consists of its parts in all blocks, whose memory outlives this object.
  explicit HostPageMemory(std::vector<PageBlock> blocks);

  [[nodiscard]] std::size_t page_bytes() const noexcept override { return page_bytes_; }
  [[nodiscard]] Result<void> give(std::int32_t page, std::span<std::byte> to) override;
  [[nodiscard]] Result<void> take(std::int32_t page, std::span<const std::byte> from) override;

 private:
  const std::vector<PageBlock> blocks_;
  std::size_t page_bytes_ = 0;
};

}  // namespace weft
