#include "weft/jobs/files/file_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "weft/jobs/jobs_error.h"

namespace weft {
namespace {

constexpr std::string_view kGood =
    R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]})";

std::string mistake_in(const std::string& text) {
  const auto checked = check_training_data(text);
  if (checked) return "";
  EXPECT_EQ(checked.error().code, JobsErrc::kBadFile);
  return checked.error().detail;
}

TEST(FileCheckTest, CountsTheExamplesAndPassesEmptyLinesOver) {
  const std::string text = "\n" + std::string(kGood) + "\r\n  \n{\"text\":\"some text\"}";
  EXPECT_EQ(check_training_data(text).value(), 2);
}

TEST(FileCheckTest, NamesLineAndField) {
  const std::string good = std::string(kGood) + "\n";
  const std::string no_utf8 = "{\"text\":\"\xff\"}";
  for (const auto& [line, expected] : {
           std::pair<std::string, std::string>{R"({"messages":[})", "line 2: the line: is no JSON"},
           {no_utf8, "line 2: the line: is no JSON"},
           {"[]", "line 2: the line: must be a JSON object"},
           {"{}", "line 2: the line: must have either messages or text"},
           {R"({"text":""})", "line 2: text: must be a text"},
           {R"({"text":"a","weight":-1})", "line 2: weight: must be a number"},
           {R"({"messages":[]})", "line 2: messages: must be a list"},
           {R"({"messages":[{"role":"robot","content":"a"}]})",
            "line 2: messages[0].role: must be"},
           {R"({"messages":[{"role":"user"}]})", "line 2: messages[0].content: is missing"},
           {R"({"messages":[{"role":"user","content":"a"}]})",
            "line 2: messages: there is no answer"},
           {R"({"messages":[{"role":"assistant","content":"a","weight":0}]})",
            "line 2: messages: there is no answer"},
           {R"({"messages":[{"role":"assistant","content":"a"}],"tools":{}})",
            "line 2: tools: must be a list"},
       }) {
    EXPECT_THAT(mistake_in(good + line), testing::StartsWith(expected)) << line;
  }
}

TEST(FileCheckTest, RefusesAFileWithoutAnExample) {
  EXPECT_EQ(mistake_in(""), "the file has no example");
  EXPECT_EQ(mistake_in("\n \n"), "the file has no example");
}

}  // namespace
}  // namespace weft
