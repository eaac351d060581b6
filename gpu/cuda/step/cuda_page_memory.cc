#include "weft/gpu/cuda/step/cuda_page_memory.h"

#include <algorithm>
#include <utility>

namespace weft::cuda {

Result<std::unique_ptr<CudaPageMemory>> CudaPageMemory::make(std::unique_ptr<Runtime> runtime,
                                                             const Layout& layout,
                                                             std::int32_t pages) {
  try {
    check(*runtime, runtime->use(), "choosing the GPU");
    return std::unique_ptr<CudaPageMemory>(new CudaPageMemory(std::move(runtime), layout, pages));
  } catch (const Failure& failure) {
    return error_of(failure);
  }
}

CudaPageMemory::CudaPageMemory(std::unique_ptr<Runtime> runtime, const Layout& layout,
                               std::int32_t pages)
    : runtime_(std::move(runtime)),
      place_(pages),
      places_(*runtime_, layout, pages, 1, 1),
      stream_(make_stream(*runtime_)) {
  // Gaps between layers are written to files too. As zeros they reveal nothing of other memory.
  std::ranges::fill(places_.bytes(), std::byte{});
}

CudaPageMemory::~CudaPageMemory() { static_cast<void>(runtime_->use()); }

Result<void> CudaPageMemory::give(std::int32_t page, std::span<std::byte> to) {
  auto copied = copy(page, place_);
  if (copied) std::ranges::copy(places_.bytes(), to.begin());
  return copied;
}

Result<void> CudaPageMemory::take(std::int32_t page, std::span<const std::byte> from) {
  std::ranges::copy(from, places_.bytes().begin());
  return copy(place_, page);
}

Result<void> CudaPageMemory::copy(std::int32_t from, std::int32_t to) {
  const PageCopy one{from, to};
  try {
    check(*runtime_, runtime_->use(), "choosing the GPU");
    places_.copy({&one, 1}, stream_.get());
    check(*runtime_, runtime_->synchronize(stream_.get()), "copying a page");
  } catch (const Failure& failure) {
    return error_of(failure);
  }
  return {};
}

}  // namespace weft::cuda
