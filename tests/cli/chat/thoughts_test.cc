#include "weft/cli/chat/thoughts.h"

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

constexpr Thoughts::Time kBegin{};

TEST(Thoughts, CountsWordsThatComeInPieces) {
  Thoughts thoughts;
  thoughts.add("The wea", kBegin);
  thoughts.add("ther\nis", kBegin);
  EXPECT_EQ(thoughts.size(kBegin), "3 words, 0 s");
  thoughts.add(" ", kBegin);
  thoughts.add("asked", kBegin);
  EXPECT_EQ(thoughts.size(kBegin + std::chrono::milliseconds(2900)), "4 words, 2 s");
  EXPECT_EQ(thoughts.text(), "The weather\nis asked");
}

TEST(Thoughts, CountsThoseThatBeganLastAndKeepsAll) {
  Thoughts thoughts;
  thoughts.add("one two", kBegin);
  EXPECT_TRUE(thoughts.under_way());
  thoughts.end();
  EXPECT_FALSE(thoughts.under_way());
  thoughts.add("three", kBegin + std::chrono::seconds(9));
  EXPECT_EQ(thoughts.size(kBegin + std::chrono::seconds(10)), "1 word, 1 s");
  EXPECT_EQ(thoughts.last(), "three");
  EXPECT_EQ(thoughts.text(), "one two\n\nthree");
  thoughts.clear();
  EXPECT_EQ(thoughts.text(), "");
  EXPECT_FALSE(thoughts.under_way());
}

TEST(Thoughts, ThoseOfAnAnswerAreNotThoseOfTheNext) {
  Thoughts thoughts;
  thoughts.add("one", kBegin);
  thoughts.begin_answer();
  EXPECT_EQ(thoughts.last(), "") << "the next answer has none";
  EXPECT_FALSE(thoughts.under_way());
  thoughts.add("two", kBegin);
  EXPECT_EQ(thoughts.last(), "two");
  EXPECT_EQ(thoughts.text(), "one\n\ntwo");
}

}  // namespace
}  // namespace weft::cli
