#include "weft/gpu/files/page_memory.h"

#include <cstring>
#include <utility>

namespace weft {

HostPageMemory::HostPageMemory(std::vector<PageBlock> blocks) : blocks_(std::move(blocks)) {
  for (const PageBlock& block : blocks_) page_bytes_ += block.bytes;
}

Result<void> HostPageMemory::give(std::int32_t page, std::span<std::byte> to) {
  std::byte* at = to.data();
  for (const PageBlock& block : blocks_) {
    std::memcpy(at, block.first + static_cast<std::size_t>(page) * block.bytes, block.bytes);
    at += block.bytes;
  }
  return {};
}

Result<void> HostPageMemory::take(std::int32_t page, std::span<const std::byte> from) {
  const std::byte* at = from.data();
  for (const PageBlock& block : blocks_) {
    std::memcpy(block.first + static_cast<std::size_t>(page) * block.bytes, at, block.bytes);
    at += block.bytes;
  }
  return {};
}

}  // namespace weft
