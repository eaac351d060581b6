#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// The pages of a device as files see them: give() and take() copy the bytes of one page in all
/// layers, which mean something only to a device of the same kind.
///
/// One thread at a time calls it; it need not be the device's. While a page is given no other
/// thread writes to it, and while a page is taken no other thread uses it.
class PageMemory {
 public:
  PageMemory() = default;
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;
  virtual ~PageMemory() = default;

  [[nodiscard]] virtual std::size_t page_bytes() const noexcept = 0;
  /// Fills `to`, of page_bytes() bytes, with the page's bytes. The device's errors.
  [[nodiscard]] virtual Result<void> give(std::int32_t page, std::span<std::byte> to) = 0;
  /// Fills the page with `from`, which give() has filled. The device's errors.
  [[nodiscard]] virtual Result<void> take(std::int32_t page, std::span<const std::byte> from) = 0;
};

/// Where one part of each page lies in memory: the part of page p begins at first + p * bytes.
struct PageBlock {
  std::byte* first = nullptr;
  std::size_t bytes = 0;
};

/// Pages in memory that the host addresses. Nothing fails.
class HostPageMemory final : public PageMemory {
 public:
  /// A page is its parts in all blocks, whose memory outlives this.
  explicit HostPageMemory(std::vector<PageBlock> blocks);

  [[nodiscard]] std::size_t page_bytes() const noexcept override { return page_bytes_; }
  [[nodiscard]] Result<void> give(std::int32_t page, std::span<std::byte> to) override;
  [[nodiscard]] Result<void> take(std::int32_t page, std::span<const std::byte> from) override;

 private:
  const std::vector<PageBlock> blocks_;
  std::size_t page_bytes_ = 0;
};

}  // namespace weft
