#include "weft/text/tokenizer/token_table.h"

#include <bit>

#include "weft/text/tokenizer/text_hash.h"

namespace weft {

std::size_t TokenTable::slot_of(std::string_view wanted) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_text(wanted) & mask;
  while (slots_[slot] != kNoToken && text(slots_[slot]) != wanted) slot = (slot + 1) & mask;
  return slot;
}

void TokenTable::rehash(std::size_t slots) {
  std::vector<TokenId> old(slots, kNoToken);
  old.swap(slots_);
  for (const TokenId id : old) {
    if (id != kNoToken) slots_[slot_of(text(id))] = id;
  }
}

void TokenTable::reserve(std::size_t count) {
  begins_.reserve(count + 1);
  const std::size_t wanted = std::bit_ceil(2 * count + 2);
  if (wanted > slots_.size()) rehash(wanted);
}

TokenId TokenTable::add(std::string_view added, bool replace) {
  const auto id = static_cast<TokenId>(size());
  if (2 * (size() + 1) >= slots_.size()) rehash(std::bit_ceil(4 * size() + 8));
  texts_ += added;
  begins_.push_back(texts_.size());
  const std::size_t slot = slot_of(text(id));
  if (slots_[slot] == kNoToken || replace) slots_[slot] = id;
  return id;
}

TokenId TokenTable::find(std::string_view wanted) const noexcept {
  return slots_.empty() ? kNoToken : slots_[slot_of(wanted)];
}

}  // namespace weft
