#include "weft/text/tokenizer/model/bpe_merges.h"

#include <bit>

namespace weft {

void BpeMerges::reserve(std::size_t count) {
  const std::size_t wanted = std::bit_ceil(2 * count + 2);
  if (wanted <= slots_.size()) return;
  std::vector<Slot> old(wanted);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& moved : old) {
    if (moved.key == kNoKey) continue;
    std::size_t slot = place(moved.key) & mask;
    while (slots_[slot].key != kNoKey) slot = (slot + 1) & mask;
    slots_[slot] = moved;
  }
}

void BpeMerges::add(TokenId left, TokenId right, Rule rule, bool replace) {
  reserve(size_ + 1);
  const std::uint64_t wanted = key(left, right);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = place(wanted) & mask;
  while (slots_[slot].key != kNoKey && slots_[slot].key != wanted) slot = (slot + 1) & mask;
  if (slots_[slot].key == wanted && !replace) return;
  if (slots_[slot].key == kNoKey) ++size_;
  slots_[slot] = {wanted, rule};
}

}  // namespace weft
