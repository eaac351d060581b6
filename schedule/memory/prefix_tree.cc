#include "weft/schedule/memory/prefix_tree.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <random>

#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

std::uint64_t random_seed() {
  std::random_device entropy;
  return std::uint64_t{entropy()} << 32U | entropy();
}

/// Multiplies to 128 bits and folds them: every bit of both reaches every bit of the result.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

}  // namespace

PrefixTree::PrefixTree(std::int32_t pages, std::int32_t page_tokens)
    : page_tokens_(static_cast<std::size_t>(page_tokens)), seed_(random_seed()) {
  const auto count = static_cast<std::size_t>(std::max(pages, 0));
  nodes_.resize(count);
  tokens_.resize(count * page_tokens_);
  scopes_.resize(count);
  buckets_.resize(std::bit_ceil(std::max<std::size_t>(count, 1)), kNoPage);
}

std::span<const TokenId> PrefixTree::tokens(PageId page) const noexcept {
  return std::span(tokens_).subspan(static_cast<std::size_t>(page) * page_tokens_, page_tokens_);
}

PageId& PrefixTree::first_child_of(PageId parent) noexcept {
  return parent == kNoPage ? first_root_ : at(parent).first_child;
}

std::uint64_t PrefixTree::hash_of(const PrefixScope& scope, PageId parent,
                                  std::span<const TokenId> tokens) const {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  std::uint64_t hash = seed_ ^ static_cast<std::uint32_t>(parent);
  if (parent == kNoPage) {
    if (scope.domain) hash ^= std::hash<std::string>{}(*scope.domain);
    if (scope.long_context) hash = ~hash;
  }
  std::size_t i = 0;
  for (; i + 2 <= tokens.size(); i += 2) {
    const std::uint64_t two = static_cast<std::uint32_t>(tokens[i]) |
                              std::uint64_t{static_cast<std::uint32_t>(tokens[i + 1])} << 32U;
    hash = mix(hash ^ two, seed_ ^ kOdd);
  }
  if (i < tokens.size()) hash = mix(hash ^ static_cast<std::uint32_t>(tokens[i]), seed_ ^ kOdd);
  return hash;
}

PageId PrefixTree::find(const PrefixScope& scope, PageId parent,
                        std::span<const TokenId> tokens) const {
  return find(scope, parent, tokens, hash_of(scope, parent, tokens));
}

PageId PrefixTree::find(const PrefixScope& scope, PageId parent, std::span<const TokenId> tokens,
                        std::uint64_t hash) const {
  PageId page = buckets_[bucket_of(hash)];
  for (; page != kNoPage; page = at(page).next_in_bucket) {
    const Node& node = at(page);
    if (node.hash != hash || node.parent != parent) continue;
    if (parent == kNoPage && this->scope(page) != scope) continue;
    if (std::ranges::equal(this->tokens(page), tokens)) break;
  }
  return page;
}

PrefixTree::Beginning PrefixTree::find_beginning(const PrefixScope& scope, PageId parent,
                                                 std::span<const TokenId> tokens) const {
  Beginning best;
  PageId page = parent == kNoPage ? first_root_ : at(parent).first_child;
  for (int i = 0; page != kNoPage && i < kMostSiblings; page = at(page).next_sibling, ++i) {
    if (parent == kNoPage && this->scope(page) != scope) continue;
    const auto [end, _] = std::ranges::mismatch(this->tokens(page), tokens);
    const auto common = static_cast<std::int32_t>(end - this->tokens(page).begin());
    if (common > best.tokens) best = {page, common};
  }
  return best;
}

PageId PrefixTree::insert(const PrefixScope& scope, PageId parent, PageId page,
                          std::span<const TokenId> tokens) {
  const std::uint64_t hash = hash_of(scope, parent, tokens);
  const PageId found = find(scope, parent, tokens, hash);
  if (found != kNoPage) return found;
  const bool known_parent = parent == kNoPage || contains(parent);
  if (contains(page) || !known_parent || tokens.size() != page_tokens_) {
    internal_error("a page that has no place in the tree of prefixes");
  }
  Node& node = at(page);
  node = {.hash = hash, .parent = parent, .in_tree = true};
  PageId& first = first_child_of(parent);
  node.next_sibling = first;
  if (first != kNoPage) at(first).previous_sibling = page;
  first = page;
  PageId& bucket = buckets_[bucket_of(node.hash)];
  node.next_in_bucket = bucket;
  bucket = page;
  std::ranges::copy(tokens, tokens_.begin() + static_cast<std::ptrdiff_t>(page) *
                                                  static_cast<std::ptrdiff_t>(page_tokens_));
  if (parent == kNoPage) scopes_[static_cast<std::size_t>(page)] = scope;
  ++size_;
  return page;
}

void PrefixTree::erase(PageId page) {
  if (!contains(page) || has_children(page)) {
    internal_error("a page is taken out of the tree of prefixes that is not a leaf");
  }
  Node& node = at(page);
  PageId* link = &buckets_[bucket_of(node.hash)];
  while (*link != page) link = &at(*link).next_in_bucket;
  *link = node.next_in_bucket;
  if (node.next_sibling != kNoPage) at(node.next_sibling).previous_sibling = node.previous_sibling;
  if (node.previous_sibling != kNoPage) {
    at(node.previous_sibling).next_sibling = node.next_sibling;
  } else {
    first_child_of(node.parent) = node.next_sibling;
  }
  if (node.parent == kNoPage) scopes_[static_cast<std::size_t>(page)] = {};
  node = {};
  --size_;
}

}  // namespace weft
