#include "weft/gpu/cuda/step/page_places.h"

#include <algorithm>
#include <vector>

#include "weft/core/kv_dtype.h"

namespace weft::cuda {
namespace {

std::int64_t page_bytes_of(const DeviceKvLayer& layer) {
  return std::int64_t{layer.page_tokens} * layer.kv_heads *
         kv_row_bytes(layer.dtype, layer.head_size);
}

}  // namespace

PagePlaces::PagePlaces(Runtime& runtime, const Layout& layout, std::int32_t pages,
                       std::int32_t places, std::size_t most_copies)
    : runtime_(runtime),
      pages_(pages),
      block_count_(static_cast<std::int32_t>(2 * layout.self_kv.size())) {
  std::vector<PageBlocks> blocks;
  std::size_t before = 0;
  const auto cut = [&](Arena arena) {
    blocks_ = arena.take<PageBlocks>(static_cast<std::size_t>(block_count_));
    copies_ = arena.take<PageCopy>(most_copies);
    before = arena.used();
    blocks.clear();
    for (const DeviceKvLayer& layer : layout.self_kv) {
      const std::int64_t bytes = page_bytes_of(layer);
      const auto all = static_cast<std::size_t>(bytes * places);
      blocks.push_back({layer.keys, bytes, arena.take(all)});
      blocks.push_back({layer.values, bytes, arena.take(all)});
    }
    return arena.used();
  };
  const std::size_t all = cut(Arena());
  memory_ = take_pinned(runtime, all);
  cut(Arena(memory_.get()));
  std::ranges::copy(blocks, blocks_);
  bytes_ = std::span(memory_.get(), all).subspan(before);
}

void PagePlaces::copy(std::span<const PageCopy> copies, Stream stream) {
  std::ranges::copy(copies, copies_);
  CudaPageCopyParams params;
  params.blocks = blocks_;
  params.block_count = block_count_;
  params.copies = copies_;
  params.copy_count = static_cast<std::int32_t>(copies.size());
  params.pages = pages_;
  check(runtime_, runtime_.run(params, stream), "swapping pages");
}

}  // namespace weft::cuda
