#include "weft/net/http/multipart.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace weft {
namespace {

constexpr std::string_view kType = "multipart/form-data; boundary=xyz";

std::string part(const std::string& header, const std::string& content) {
  return "--xyz\r\n" + header + "\r\n\r\n" + content + "\r\n";
}

std::string named(const std::string& name, const std::string& content) {
  return part("Content-Disposition: form-data; name=\"" + name + "\"", content);
}

/// Returns what is wrong with a form; empty: nothing.
std::string mistake_in(std::string_view type, const std::string& body) {
  const auto parts = form_parts(type, body);
  if (parts) return {};
  EXPECT_EQ(parts.error().status, 400);
  EXPECT_EQ(parts.error().code, "invalid_form");
  return parts.error().message;
}

TEST(MultipartTest, ReadsFieldsAndFiles) {
  const std::string content = "{\"a\":1}\r\n--xy\r\n\n";
  const std::string body =
      named("purpose", "fine-tune") +
      part(
          "content-type: application/json\r\n"
          "content-disposition: form-data; filename=\"a \\\"b\\\".jsonl\"; name=file",
          content) +
      "--xyz--\r\n";
  const auto parts = form_parts(kType, body);
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ(parts->front().name, "purpose");
  EXPECT_EQ(parts->front().filename, "");
  EXPECT_EQ(parts->front().content, "fine-tune");
  EXPECT_EQ(parts->back().name, "file");
  EXPECT_EQ(parts->back().filename, "a \"b\".jsonl");
  EXPECT_EQ(parts->back().content, content);
}

TEST(MultipartTest, TakesQuotedBoundariesEmptyPartsAndAPreamble) {
  const std::string body = "ignored\r\n" + named("a", "") + "--xyz--";
  const auto parts = form_parts("Multipart/Form-Data; charset=utf-8; Boundary=\"xyz\"", body);
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 1U);
  EXPECT_EQ(parts->front().content, "");
  EXPECT_TRUE(form_parts(kType, "--xyz--")->empty());
}

TEST(MultipartTest, SaysWhatIsWrong) {
  const std::string good = named("a", "b");
  EXPECT_NE(mistake_in("application/json", good), "");
  EXPECT_NE(mistake_in("", good), "");
  EXPECT_NE(mistake_in("multipart/form-data", good), "");
  EXPECT_NE(mistake_in("multipart/form-data; boundary=", good), "");
  EXPECT_NE(mistake_in("multipart/form-data; boundary=" + std::string(71, 'x'), good), "");
  EXPECT_NE(mistake_in(kType, ""), "");
  EXPECT_NE(mistake_in(kType, part("Content-Type: text/plain", "b") + "--xyz--"), "");
  EXPECT_NE(mistake_in(kType, part("", "b") + "--xyz--"), "");
  EXPECT_NE(mistake_in(kType, "--xyz\r\nX: y\r\n" + good + "--xyz--"), "")
      << "the first part would take the second one's name";
  std::string many;
  for (std::size_t i = 0; i <= kMostFormParts; ++i) many += good;
  EXPECT_NE(mistake_in(kType, many + "--xyz--"), "");
  EXPECT_EQ(mistake_in(kType, good + "--xyz--"), "");
}

TEST(MultipartTest, AFormThatIsCutOffIsNone) {
  const std::string whole = named("a", "some content") + named("b", "more") + "--xyz--";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(mistake_in(kType, whole.substr(0, size)), "") << size;
  }
  EXPECT_EQ(mistake_in(kType, whole), "");
}

}  // namespace
}  // namespace weft
