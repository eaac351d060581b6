#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// The pages of a device as files see them: it gives and takes the bytes of one, of all layers,
/// which mean something to a device of the same kind alone.
///
/// One thread at a time calls it, which need not be the device's. Nobody else writes to a page that
/// is given meanwhile, and nobody has one that is taken.
class PageMemory {
 public:
  PageMemory() = default;
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;
  virtual ~PageMemory() = default;

  [[nodiscard]] virtual std::size_t page_bytes() const noexcept = 0;
  /// Fills `to`, of page_bytes() bytes, with what the page holds. The device's errors.
  [[nodiscard]] virtual Result<void> give(std::int32_t page, std::span<std::byte> to) = 0;
  /// Fills the page with `from`, which give() has filled. The device's errors.
  [[nodiscard]] virtual Result<void> take(std::int32_t page, std::span<const std::byte> from) = 0;
};

/// Where a part of each page lies in memory: that of page p begins at first + p * bytes.
struct PageBlock {
  std::byte* first = nullptr;
  std::size_t bytes = 0;
};

/// Pages that the host can address. Nothing fails.
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
