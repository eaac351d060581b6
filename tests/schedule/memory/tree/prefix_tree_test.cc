#include "weft/schedule/memory/tree/prefix_tree.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "weft/tests/fixture/expect_bug.h"

namespace weft {
namespace {

using Tokens = std::vector<TokenId>;

PrefixScope scope_named(const char* name) { return {std::make_shared<const std::string>(name)}; }

TEST(PrefixTree, FindsAPageByItsTokensAndThoseBefore) {
  PrefixTree tree(8, 2);
  tree.insert({}, kNoPage, 3, Tokens{1, 2});
  tree.insert({}, 3, 5, Tokens{7, 8});
  tree.insert({}, kNoPage, 4, Tokens{7, 8});
  EXPECT_EQ(tree.find({}, kNoPage, Tokens{1, 2}), 3);
  EXPECT_EQ(tree.find({}, 3, Tokens{7, 8}), 5);
  EXPECT_EQ(tree.find({}, kNoPage, Tokens{7, 8}), 4);
  EXPECT_EQ(tree.find({}, 4, Tokens{7, 8}), kNoPage);
  EXPECT_EQ(tree.find({}, 3, Tokens{7, 9}), kNoPage);
  EXPECT_EQ(tree.size(), 3);
  EXPECT_EQ(tree.parent(5), 3);
}

TEST(PrefixTree, KeepsScopesApart) {
  PrefixTree tree(8, 2);
  const Tokens tokens = {1, 2};
  PrefixScope is_long;
  is_long.traits.angles = AngleSet::kLong;
  tree.insert({}, kNoPage, 0, tokens);
  tree.insert(scope_named("a"), kNoPage, 1, tokens);
  tree.insert(is_long, kNoPage, 2, tokens);
  EXPECT_EQ(tree.find({}, kNoPage, tokens), 0);
  EXPECT_EQ(tree.find(scope_named("a"), kNoPage, tokens), 1) << "by its text";
  EXPECT_EQ(tree.find(is_long, kNoPage, tokens), 2);
  EXPECT_EQ(tree.find(scope_named("b"), kNoPage, tokens), kNoPage);
  EXPECT_EQ(tree.find(scope_named(""), kNoPage, tokens), kNoPage) << "no domain is none";
  EXPECT_EQ(tree.find_beginning(scope_named("b"), kNoPage, tokens).page, kNoPage);
  EXPECT_EQ(tree.find_beginning(is_long, kNoPage, tokens).page, 2);
}

TEST(PrefixTree, FindsThePageThatBeginsWithTheMostTokens) {
  PrefixTree tree(8, 4);
  tree.insert({}, kNoPage, 0, Tokens{1, 2, 3, 4});
  tree.insert({}, kNoPage, 1, Tokens{1, 2, 9, 9});
  tree.insert({}, 0, 2, Tokens{5, 6, 7, 8});
  const auto best = tree.find_beginning({}, kNoPage, Tokens{1, 2, 3});
  EXPECT_EQ(best.page, 0);
  EXPECT_EQ(best.tokens, 3);
  EXPECT_EQ(tree.find_beginning({}, 0, Tokens{5, 5, 5, 5}).tokens, 1);
  EXPECT_EQ(tree.find_beginning({}, 0, Tokens{1}).page, kNoPage);
  EXPECT_EQ(tree.find_beginning({}, 2, Tokens{1}).page, kNoPage);
}

TEST(PrefixTree, LooksAtTheLatestSiblingsOnly) {
  PrefixTree tree(64, 2);
  for (PageId page = 0; page < 40; ++page) tree.insert({}, kNoPage, page, Tokens{page, 0});
  EXPECT_EQ(tree.find_beginning({}, kNoPage, Tokens{39}).page, 39);
  EXPECT_EQ(tree.find_beginning({}, kNoPage, Tokens{40 - PrefixTree::kMostSiblings}).tokens, 1);
  EXPECT_EQ(tree.find_beginning({}, kNoPage, Tokens{0}).page, kNoPage);
  EXPECT_EQ(tree.find({}, kNoPage, Tokens{0, 0}), 0) << "a whole page is found all the same";
}

TEST(PrefixTree, TellsMisuse) {
  PrefixTree tree(4, 2);
  tree.insert({}, kNoPage, 0, Tokens{1, 2});
  tree.insert({}, 0, 1, Tokens{3, 4});
  WEFT_EXPECT_BUG(tree.erase(0), "not a leaf");
  WEFT_EXPECT_BUG(tree.erase(3), "not a leaf");
  const Tokens tokens = {5, 6};
  WEFT_EXPECT_BUG(tree.renumber(0, 1), "cannot be");
  WEFT_EXPECT_BUG(tree.renumber(2, 3), "cannot be");
  tree.links(1) = {PageLinks::kEnd, PageLinks::kEnd};
  WEFT_EXPECT_BUG(tree.erase(1), "is listed");
  WEFT_EXPECT_BUG(tree.renumber(1, 2), "cannot be");
  WEFT_EXPECT_BUG(tree.insert({}, kNoPage, 1, tokens), "no place");
  WEFT_EXPECT_BUG(tree.insert({}, 2, 3, tokens), "no place");
  WEFT_EXPECT_BUG(tree.insert({}, 1, 3, std::span(tokens).first(1)), "no place");
}

TEST(PrefixTree, LetsNothingInBehindATail) {
  PrefixTree tree(4, 2);
  const Tokens tokens = {1, 2};
  tree.insert({}, kNoPage, 0, tokens);
  tree.set_tail(0, true);
  EXPECT_TRUE(tree.has_tail(0));
  EXPECT_EQ(tree.find({}, 0, tokens), kNoPage);
  EXPECT_EQ(tree.find_beginning({}, 0, tokens).page, kNoPage);
  WEFT_EXPECT_BUG(tree.insert({}, 0, 1, tokens), "not read");
  WEFT_EXPECT_BUG(tree.erase(0), "not a leaf");
  WEFT_EXPECT_BUG(tree.renumber(0, 1), "cannot be");
  WEFT_EXPECT_BUG(tree.set_tail(0, true), "cannot have a tail");
  tree.set_tail(0, false);
  tree.write_tokens(1, tokens);
  tree.insert({}, 0, 1, tree.tokens(1));
  EXPECT_EQ(tree.find({}, 0, tokens), 1);
  WEFT_EXPECT_BUG(tree.set_tail(0, true), "cannot have a tail");
}

/// Against a map from whole paths.
TEST(PrefixTree, FindsWhatAMapOfPathsFinds) {
  constexpr std::int32_t kPages = 40;
  std::mt19937_64 random(1);
  PrefixTree tree(kPages, 2);
  std::map<Tokens, PageId> pages;  // by all tokens that lead there
  std::map<PageId, Tokens> paths;
  const auto random_page = [&] {
    return Tokens{static_cast<TokenId>(random() % 3), static_cast<TokenId>(random() % 2)};
  };
  for (int round = 0; round < 20'000; ++round) {
    const auto page = static_cast<PageId>(random() % kPages);
    if (const auto found = paths.find(page); found != paths.end()) {
      if (const auto other = static_cast<PageId>(random() % kPages); !tree.contains(other)) {
        tree.renumber(page, other);
        pages[found->second] = other;
        paths[other] = found->second;
        paths.erase(page);
        continue;
      }
      if (tree.has_children(page)) continue;
      tree.erase(page);
      pages.erase(found->second);
      paths.erase(found);
      continue;
    }
    Tokens path;
    PageId parent = kNoPage;
    for (;;) {
      const Tokens next = random_page();
      const PageId child = tree.find({}, parent, next);
      path.insert(path.end(), next.begin(), next.end());
      const auto known = pages.find(path);
      ASSERT_EQ(child, known == pages.end() ? kNoPage : known->second);
      if (child == kNoPage) {
        tree.insert({}, parent, page, next);
        break;
      }
      parent = child;
    }
    pages.emplace(path, page);
    paths.emplace(page, path);
    ASSERT_EQ(tree.size(), static_cast<std::int32_t>(pages.size()));
  }
}

}  // namespace
}  // namespace weft
