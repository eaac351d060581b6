#include "weft/schedule/memory/tree/prefix_tree.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/core/mailbox/cache_line.h"

namespace weft {

PrefixTree::PrefixTree(std::int32_t pages, std::int32_t page_tokens)
    : page_tokens_(static_cast<std::size_t>(page_tokens)) {
  const auto count = static_cast<std::size_t>(std::max(pages, 0));
  nodes_.resize(count);
  constexpr std::size_t kLine = kCacheLineBytes / sizeof(TokenId);
  tokens_.resize(count * page_tokens_ + kLine);
  const auto address = reinterpret_cast<std::uintptr_t>(tokens_.data());
  tokens_begin_ = (kLine - address / sizeof(TokenId) % kLine) % kLine;
  scopes_.resize(count);
  // With few pages in a bucket hardly any is looked at in vain.
  buckets_.resize(std::bit_ceil(std::max<std::size_t>(2 * count, 1)), kNoPage);
}

std::span<const TokenId> PrefixTree::tokens(PageId page) const noexcept {
  return std::span(tokens_).subspan(first_token_of(page), page_tokens_);
}

PageId& PrefixTree::first_child_of(PageId parent) noexcept {
  return parent == kNoPage ? first_root_ : at(parent).first_child;
}

PageId PrefixTree::find(const PrefixScope& scope, PageId parent,
                        std::span<const TokenId> tokens) const {
  if (parent != kNoPage) {
    const PageId child = first_child(parent);
    if (child == kNoPage) return kNoPage;
    if (at(child).next_sibling == kNoPage) {
      return std::ranges::equal(this->tokens(child), tokens) ? child : kNoPage;
    }
  }
  return find_hashed(scope, parent, tokens, hash_(scope, parent, tokens));
}

PageId PrefixTree::find_hashed(const PrefixScope& scope, PageId parent,
                               std::span<const TokenId> tokens, std::uint32_t hash) const {
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
  PageId page = parent == kNoPage ? first_root_ : first_child(parent);
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
  PageId& first = first_child_of(parent);
  if (first == kTail) internal_error("a page is inserted behind a tail that was not read");
  const bool hashes = parent == kNoPage || first != kNoPage;
  const std::uint32_t hash = hashes ? hash_(scope, parent, tokens) : 0;
  if (hashes) {
    if (first != kNoPage && !at(first).is_hashed()) {
      put_into_bucket(first, hash_(scope, parent, this->tokens(first)));
    }
    const PageId found = find_hashed(scope, parent, tokens, hash);
    if (found != kNoPage) return found;
  }
  const bool known_parent = parent == kNoPage || contains(parent);
  if (contains(page) || !known_parent || tokens.size() != page_tokens_) {
    internal_error("a page that has no place in the tree of prefixes");
  }
  Node& node = at(page);
  node = {};
  node.parent = parent;
  node.next_sibling = first;
  if (first != kNoPage) at(first).previous_sibling = page;
  first = page;
  if (hashes) put_into_bucket(page, hash);
  write_tokens(page, tokens);
  if (parent == kNoPage) scopes_[static_cast<std::size_t>(page)] = scope;
  ++size_;
  return page;
}

void PrefixTree::write_tokens(PageId page, std::span<const TokenId> tokens) {
  TokenId* const place = &tokens_[first_token_of(page)];
  if (place != tokens.data()) std::ranges::copy(tokens, place);
}

void PrefixTree::set_tail(PageId page, bool has_one) {
  PageId& first = at(page).first_child;
  if (!contains(page) || first != (has_one ? kNoPage : kTail)) {
    internal_error("a page that cannot have a tail, or has none");
  }
  first = has_one ? kTail : kNoPage;
}

void PrefixTree::put_into_bucket(PageId page, std::uint32_t hash) {
  Node& node = at(page);
  PageId& bucket = buckets_[bucket_of(hash)];
  node.hash = hash;
  node.next_in_bucket = bucket;
  bucket = page;
}

void PrefixTree::take_from_bucket(PageId page) {
  PageId* link = &buckets_[bucket_of(at(page).hash)];
  while (*link != page) link = &at(*link).next_in_bucket;
  *link = at(page).next_in_bucket;
}

void PrefixTree::renumber(PageId from, PageId to) {
  if (!contains(from) || contains(to) || has_tail(from) || links(from).older != PageLinks::kOut) {
    internal_error("a page is renumbered that cannot be");
  }
  const Node old = at(from);
  if (old.is_hashed()) take_from_bucket(from);
  Node& node = at(to);
  node = old;
  at(from) = {};
  if (old.is_hashed()) put_into_bucket(to, old.hash);
  if (old.next_sibling != kNoPage) at(old.next_sibling).previous_sibling = to;
  (old.previous_sibling != kNoPage ? at(old.previous_sibling).next_sibling
                                   : first_child_of(old.parent)) = to;
  const auto tokens_at = [&](PageId page) {
    return tokens_.begin() + static_cast<std::ptrdiff_t>(first_token_of(page));
  };
  std::copy_n(tokens_at(from), page_tokens_, tokens_at(to));
  auto& scope = scopes_[static_cast<std::size_t>(from)];
  scopes_[static_cast<std::size_t>(to)] = std::exchange(scope, {});
  // Children are found by their parent's number.
  for (PageId child = old.first_child; child != kNoPage; child = at(child).next_sibling) {
    at(child).parent = to;
    if (!at(child).is_hashed()) continue;
    take_from_bucket(child);
    put_into_bucket(child, hash_({}, to, tokens(child)));
  }
}

void PrefixTree::erase(PageId page) {
  if (!contains(page) || has_children(page) || links(page).older != PageLinks::kOut) {
    internal_error("a page is taken out of the tree of prefixes that is not a leaf, or is listed");
  }
  Node& node = at(page);
  if (node.is_hashed()) take_from_bucket(page);
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
