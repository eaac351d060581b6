#include "weft/text/format/harmony_header.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::test {
namespace {

struct HeaderCase {
  const char* text;
  const char* channel;
  const char* recipient;
  const char* rest;
};

TEST(HarmonyHeaderTest, AHeaderIsTakenApart) {
  const std::vector<HeaderCase> cases = {
      {"<|channel|>analysis", "analysis", "", ""},
      {"assistant<|channel|>final", "final", "", ""},
      {"<|channel|>commentary to=functions.f <|constrain|>json", "commentary", "functions.f", ""},
      {" to=functions.f<|channel|>commentary json", "commentary", "functions.f", ""},
      {"<|channel|>commentary to=f<|channel|>analysis code", "analysis", "f", ""},
      {"assistantanalysis", "analysis", "", ""},
      {"<|channel|>analysisWe look.", "analysis", "", "We look."},
      {"<|channel|>analysis json it is.", "analysis", "", "json it is."},
      {"<|channel|>", "<|channel|>", "", ""},
      {"<|channel|>thinking", "thinking", "", ""},
      {"", "", "", ""},
  };
  for (const HeaderCase& one : cases) {
    const HarmonyHeader header = read_harmony_header(one.text);
    EXPECT_EQ(header.channel, one.channel) << one.text;
    EXPECT_EQ(header.recipient, one.recipient) << one.text;
    EXPECT_EQ(header.rest, one.rest) << one.text;
  }
}

TEST(HarmonyHeaderTest, WordsOfAHeaderMayBeOneWithoutTags) {
  for (const char* text : {"", "ana", "analysis", "assistant", "assistantfin", "assistant final",
                           "commentary to=functions.f", "commentary t"}) {
    EXPECT_TRUE(may_be_harmony_header(text)) << text;
  }
  for (const char* text :
       {"Hello", "final answer", "analysis:", "commentary to=f and", "finally"}) {
    EXPECT_FALSE(may_be_harmony_header(text)) << text;
  }
}

}  // namespace
}  // namespace weft::test
