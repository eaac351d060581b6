#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/core/error/error.h"
#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/cuda/runtime/runtime.h"
#include "weft/gpu/cuda/step/page_places.h"
#include "weft/gpu/files/page_memory.h"

namespace weft::cuda {

/// A GPU's pages for PageFiles. The calling thread is not the device's thread, so it has a second
/// runtime of the same GPU. Copies go through page-locked memory of one page, in a separate stream.
/// They run beside steps, and the call waits for them.
class CudaPageMemory final : public PageMemory {
 public:
  /// `layout` belongs to a device with `pages` pages on the GPU of `runtime`. It outlives calls of
  /// give() and take(). kDriver, kOutOfMemory.
  [[nodiscard]] static Result<std::unique_ptr<CudaPageMemory>> make(
      std::unique_ptr<Runtime> runtime, const Layout& layout, std::int32_t pages);
  ~CudaPageMemory() override;

  [[nodiscard]] std::size_t page_bytes() const noexcept override { return places_.bytes().size(); }
  [[nodiscard]] Result<void> give(std::int32_t page, std::span<std::byte> to) override;
  [[nodiscard]] Result<void> take(std::int32_t page, std::span<const std::byte> from) override;

 private:
  CudaPageMemory(std::unique_ptr<Runtime> runtime, const Layout& layout, std::int32_t pages);

  [[nodiscard]] Result<void> copy(std::int32_t from, std::int32_t to);

  const std::unique_ptr<Runtime> runtime_;
  const std::int32_t place_;  // the number of the only place in host memory
  PagePlaces places_;
  OwnedStream stream_;
};

}  // namespace weft::cuda
