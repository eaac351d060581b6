#include "weft/gpu/files/page_key.h"

#include <openssl/sha.h>

#include "weft/core/text/hex_value.h"

namespace weft {

PageKey sha256(std::span<const std::byte> bytes) {
  PageKey key;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(key.data()));
  return key;
}

std::string to_hex(const PageKey& key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : key) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4U)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

bool from_hex(std::string_view text, PageKey& key) {
  if (text.size() != 2 * key.size()) return false;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const int high = hex_value(text[2 * i]);
    const int low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    key[i] = static_cast<std::byte>(high * 16 + low);
  }
  return to_hex(key) == text;  // true only for lower-case letters, as files are named
}

void PageKeyMaker::add(const void* from, std::size_t size) {
  const auto* const bytes = static_cast<const std::byte*>(from);
  scratch_.insert(scratch_.end(), bytes, bytes + size);
}

PageKey PageKeyMaker::first(const PageKey& identity, const std::string* domain,
                            const KvTraits& traits) {
  scratch_.clear();
  add(identity.data(), identity.size());
  const char has_domain = domain == nullptr ? '\0' : '\1';
  add(&has_domain, sizeof(has_domain));
  const auto of_traits = key_bytes(traits);
  add(of_traits.data(), of_traits.size());
  if (domain != nullptr) add(domain->data(), domain->size());
  return sha256(scratch_);
}

PageKey PageKeyMaker::next(const PageKey& before, std::span<const TokenId> tokens) {
  scratch_.clear();
  add(before.data(), before.size());
  add(tokens.data(), tokens.size_bytes());
  return sha256(scratch_);
}

}  // namespace weft
