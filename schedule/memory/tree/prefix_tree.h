#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/token.h"
#include "weft/schedule/memory/idle_pages.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/tree/prefix_scope.h"

namespace weft {

/// Finds pages of the KV cache by all the tokens that lead to them: a tree in which a page is a
/// node, and its children are the pages that continue it (RadixAttention, Zheng et al., arXiv
/// 2312.07104, section 3, with pages instead of tokens as the unit). An only child is found by its
/// parent alone, which is all that most texts come to: a page that nobody ever finds has cost no
/// hash. First pages, and the children where texts part, are found through a hash table by parent
/// and tokens. So a look-up costs the pages that it finds.
///
/// A page's number is its node's, so nothing but this knows where a node is; what moves to another
/// page is renumbered. The tree knows neither who uses a page nor when it was used last, but has
/// room for a list of pages (links): who keeps a page or gives one up then waits for two lines of
/// the processor's cache, the node and the tokens, and most of the time is that waiting. Tokens are
/// compared one by one: a hash that collides finds nothing wrong. The hash has a seed of the
/// process's own, as clients choose the tokens.
///
/// Bounded by the pages. Owner only. Everything is allocated by the constructor; misuse is an
/// internal_error.
class PrefixTree {
 public:
  PrefixTree(std::int32_t pages, std::int32_t page_tokens);

  [[nodiscard]] std::int32_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t page_tokens() const noexcept { return page_tokens_; }
  [[nodiscard]] bool contains(PageId page) const noexcept { return at(page).parent != kOutside; }
  /// Have the processor fetch what it takes to erase, or to insert, a page soon.
  void prefetch_to_erase(PageId page) const noexcept { __builtin_prefetch(&at(page), 1); }
  void prefetch_to_insert(PageId page) const noexcept {
    constexpr int kToWrite = 1;
    __builtin_prefetch(&at(page), kToWrite);
    __builtin_prefetch(&tokens_[first_token_of(page)], kToWrite);
  }
  /// A page with a tail counts as one with children.
  [[nodiscard]] bool has_children(PageId page) const noexcept {
    return at(page).first_child != kNoPage;
  }
  /// kNoPage where there is none, or a tail.
  [[nodiscard]] PageId first_child(PageId page) const noexcept {
    const PageId child = at(page).first_child;
    return child == kTail ? kNoPage : child;
  }
  [[nodiscard]] PageId next_sibling(PageId page) const noexcept { return at(page).next_sibling; }
  /// Whether the page, which has no children, is continued by pages that are not in the tree yet.
  /// None can be inserted behind it as long as that is so.
  [[nodiscard]] bool has_tail(PageId page) const noexcept { return at(page).first_child == kTail; }
  void set_tail(PageId page, bool has_one);
  [[nodiscard]] PageId parent(PageId page) const noexcept { return at(page).parent; }
  [[nodiscard]] std::span<const TokenId> tokens(PageId page) const noexcept;
  /// Notes the tokens of a page that is not in the tree yet.
  void write_tokens(PageId page, std::span<const TokenId> tokens);
  void prefetch_to_write_tokens(PageId page) const noexcept {
    constexpr int kToWrite = 1;
    __builtin_prefetch(&tokens_[first_token_of(page)], kToWrite);
  }
  /// The page's place in the list of whoever keeps one. It is in none when it is inserted, erased
  /// or renumbered.
  [[nodiscard]] const PageLinks& links(PageId page) const noexcept { return at(page).links; }
  [[nodiscard]] PageLinks& links(PageId page) noexcept { return at(page).links; }
  /// The scope of a page that has no parent.
  [[nodiscard]] const PrefixScope& scope(PageId root) const noexcept {
    return scopes_[static_cast<std::size_t>(root)];
  }

  /// Returns the page that continues `parent` with exactly these tokens, a page's number of them;
  /// kNoPage if there is none. Without a parent (kNoPage) it is a first page of the scope.
  [[nodiscard]] PageId find(const PrefixScope& scope, PageId parent,
                            std::span<const TokenId> tokens) const;

  /// A page whose first tokens are the wanted ones.
  struct Beginning {
    PageId page = kNoPage;
    std::int32_t tokens = 0;
  };
  /// Returns the page after `parent` that begins with the most of these tokens, which may be fewer
  /// than a page's. It looks at the kMostSiblings that came last.
  [[nodiscard]] Beginning find_beginning(const PrefixScope& scope, PageId parent,
                                         std::span<const TokenId> tokens) const;
  static constexpr int kMostSiblings = 16;  // a page's tokens are compared in some 10 ns

  /// Returns what find() does where that is a page. Else it adds the given one, which is not in the
  /// tree, with a page's number of tokens, and returns it.
  PageId insert(const PrefixScope& scope, PageId parent, PageId page,
                std::span<const TokenId> tokens);
  /// Takes out a page without children.
  void erase(PageId page);
  /// What the page holds is in another one now, which is not in the tree. Takes time by the number
  /// of the page's children.
  void renumber(PageId from, PageId to);

 private:
  static constexpr PageId kOutside = -2;
  static constexpr PageId kTail = -3;  // instead of a first child

  struct alignas(32) Node {    // so that none lies in two lines of the processor's cache
    std::uint32_t hash = 0;    // where it is hashed
    PageId parent = kOutside;  // not in the tree
    PageId first_child = kNoPage;
    PageId next_sibling = kNoPage;
    PageId previous_sibling = kNoPage;
    PageId next_in_bucket = kOutside;  // not hashed; of siblings all are
    PageLinks links;

    [[nodiscard]] bool is_hashed() const noexcept { return next_in_bucket != kOutside; }
  };
  static_assert(sizeof(Node) == 32);

  [[nodiscard]] const Node& at(PageId page) const noexcept {
    return nodes_[static_cast<std::size_t>(page)];
  }
  [[nodiscard]] Node& at(PageId page) noexcept { return nodes_[static_cast<std::size_t>(page)]; }
  [[nodiscard]] PageId find_hashed(const PrefixScope& scope, PageId parent,
                                   std::span<const TokenId> tokens, std::uint32_t hash) const;
  void put_into_bucket(PageId page, std::uint32_t hash);
  void take_from_bucket(PageId page);
  [[nodiscard]] PageId& first_child_of(PageId parent) noexcept;
  [[nodiscard]] std::size_t bucket_of(std::uint32_t hash) const noexcept {
    return std::size_t{hash} & (buckets_.size() - 1);
  }
  [[nodiscard]] std::size_t first_token_of(PageId page) const noexcept {
    return tokens_begin_ + static_cast<std::size_t>(page) * page_tokens_;
  }

  const std::size_t page_tokens_;
  const PrefixHash hash_;
  std::int32_t size_ = 0;
  PageId first_root_ = kNoPage;
  std::vector<Node> nodes_;          // by page
  std::vector<TokenId> tokens_;      // of each page, by page, from tokens_begin_ on
  std::size_t tokens_begin_ = 0;     // where a line of the processor's cache begins
  std::vector<PrefixScope> scopes_;  // by page; of those without parent
  std::vector<PageId> buckets_;      // the first node of each; a power of two
};

}  // namespace weft
