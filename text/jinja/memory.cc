#include "weft/text/jinja/memory.h"

#include <algorithm>
#include <memory>

namespace weft::jinja {
namespace {

/// The largest block. Most renderings take some KiB; only a long conversation's rendering takes
/// blocks of this size.
constexpr std::size_t kLargestBlock = std::size_t{64} << 10U;
/// The smallest object with a block of its own. A smaller one is cut from a block, of which less
/// than this is wasted.
constexpr std::size_t kOwnBlock = kLargestBlock / 8;

}  // namespace

void* BoundedMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (!fits(bytes)) throw MemorySpent();
  void* memory = std::pmr::new_delete_resource()->allocate(bytes, alignment);
  held_ += bytes;
  return memory;
}

void BoundedMemory::do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) {
  std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  held_ -= bytes;
}

Arena::~Arena() {
  while (blocks_ != nullptr) {
    Block* block = blocks_;
    blocks_ = block->next;
    from_.deallocate(block, block->bytes);
  }
}

void* Arena::add_block(std::size_t bytes) {
  auto* block = static_cast<Block*>(from_.allocate(sizeof(Block) + bytes));
  *block = {blocks_, sizeof(Block) + bytes};
  blocks_ = block;
  return block + 1;
}

void* Arena::do_allocate(std::size_t bytes, std::size_t alignment) {
  static_assert(sizeof(Block) % alignof(std::max_align_t) == 0);
  if (std::align(alignment, bytes, at_, left_) == nullptr) {
    if (bytes >= kOwnBlock) return add_block(bytes);
    const std::size_t wanted = std::max(next_bytes_, 2 * bytes);
    at_ = add_block(wanted);
    left_ = wanted;
    next_bytes_ = std::min(2 * wanted, kLargestBlock);
  }
  void* place = at_;
  at_ = static_cast<std::byte*>(at_) + bytes;
  left_ -= bytes;
  return place;
}

}  // namespace weft::jinja
