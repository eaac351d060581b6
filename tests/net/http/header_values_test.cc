#include "weft/net/http/header_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "weft/config/keys/config_schema.h"
#include "weft/net/defaults.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(HeaderValuesTest, WritesPlacesInPrintableAscii) {
  EXPECT_EQ(warning_value({}), "");
  EXPECT_EQ(warning_value({"format.not", "tools[0].$ref"}),
            "not enforced: format.not, tools[0].$ref");
  EXPECT_EQ(warning_value({"a,b%\"\r\n\x7f.\xc3\xa9"}),
            "not enforced: a%2Cb%25%22%0D%0A%7F.%C3%A9");
}

TEST(HeaderValuesTest, ComparesStartsWithoutTheirCase) {
  EXPECT_TRUE(istarts_with("Bearer abc", "bearer "));
  EXPECT_TRUE(istarts_with("abc", ""));
  EXPECT_FALSE(istarts_with("Bear", "bearer"));
  EXPECT_FALSE(istarts_with("Basic abc", "bearer "));
}

TEST(HeaderValuesTest, TakesAListApart) {
  EXPECT_THAT(list_items("a, b c ,\td"), ElementsAre("a", "b c", "d"));
  EXPECT_THAT(list_items(", ,a,,"), ElementsAre("a"));
  EXPECT_THAT(list_items(""), IsEmpty());
  EXPECT_THAT(list_items(" , "), IsEmpty());
}

using Parts = std::pair<std::string, std::string>;  // path, query

std::optional<Parts> parts_of(std::string_view target) {
  std::string path;
  std::string query;
  if (!split_target(target, path, query)) return std::nullopt;
  return Parts(path, query);
}

TEST(HeaderValuesTest, TakesATargetApart) {
  EXPECT_EQ(parts_of("/"), Parts("/", ""));
  EXPECT_EQ(parts_of("/a%20b%2Fc%c3%A4?x=%20&y=?"), Parts("/a b/c\u00E4", "x=%20&y=?"));
  EXPECT_EQ(parts_of("http://host:80/a?b"), Parts("/a", "b"));
  EXPECT_EQ(parts_of("HTTPS://host"), Parts("/", ""));
}

TEST(HeaderValuesTest, SlashesThatSeparateNothingAreNoPartOfAPath) {
  EXPECT_EQ(parts_of("/v1/models/"), Parts("/v1/models", ""));
  EXPECT_EQ(parts_of("//v1//models///?a=//"), Parts("/v1/models", "a=//"));
  EXPECT_EQ(parts_of("http://host//v1"), Parts("/v1", ""));
  EXPECT_EQ(parts_of("///"), Parts("/", ""));
  EXPECT_EQ(parts_of("/a%2F%2Fb"), Parts("/a//b", "")) << "these are a name's";
}

TEST(HeaderValuesTest, FindsAValueInAQuery) {
  EXPECT_EQ(query_value("a=1&stream=true&b", "stream"), "true");
  EXPECT_EQ(query_value("stream=1&stream=2", "stream"), "1");
  EXPECT_EQ(query_value("after=msg%5F1", "after"), "msg_1");
  for (const char* query : {"", "stream", "stream=", "xstream=1", "stream=%4", "=&&=1"}) {
    EXPECT_EQ(query_value(query, "stream"), "") << query;
  }
}

TEST(HeaderValuesTest, RefusesATargetThatIsNoPath) {
  for (const char* target : {"", "*", "host:80", "a/b", "?a", "ftp://host/a", "/%", "/%4", "/%4g",
                             "/%g4", "/a%00b", "/%-1"}) {
    EXPECT_EQ(parts_of(target), std::nullopt) << target;
  }
}

TEST(HeaderValuesTest, KnowsARequestId) {
  EXPECT_TRUE(is_request_id("req_01-AZ.az:9"));
  EXPECT_TRUE(is_request_id(std::string(128, 'a')));
  for (const std::string& text : {std::string(), std::string(129, 'a'), std::string("a b"),
                                  std::string("a\n"), std::string("\u00E4"), std::string("a/b")}) {
    EXPECT_FALSE(is_request_id(text)) << text;
  }
}

TEST(HeaderValuesTest, FindsThePasswordOfBasicCredentials) {
  EXPECT_EQ(password_of_basic("dXNlcjpwYTpzcw=="), "pa:ss");  // user:pa:ss
  EXPECT_EQ(password_of_basic("OnBhc3M="), "pass");           // :pass
  EXPECT_EQ(password_of_basic("dXNlcg=="), "");               // user
  EXPECT_EQ(password_of_basic("dXNlcjp*"), "");
  EXPECT_EQ(password_of_basic(""), "");
}

ApiResult<milliseconds> timeout(std::string_view value) {
  boost::beast::http::request_header<> header;
  header.set(kTimeoutHeader, value);
  return timeout_of(header);
}

TEST(HeaderValuesTest, ReadsHowLongAClientWaits) {
  EXPECT_EQ(timeout_of({}).value(), milliseconds(0));
  EXPECT_EQ(timeout("1").value(), milliseconds(1));
  EXPECT_EQ(timeout("86400000").value(), milliseconds(86'400'000));
  for (const char* value : {"0", "-1", "86400001", "99999999999999999999", "1.5", "5s", "0x5"}) {
    const auto refused = timeout(value);
    ASSERT_TRUE(refused.has_error()) << value;
    EXPECT_EQ(refused.error().status, 400);
    EXPECT_EQ(refused.error().param, kTimeoutHeader);
  }
}

// A header that the configuration allows can be read.
TEST(HeaderValuesTest, HaveRoomInWhatIsReadAhead) {
  const ConfigKey* const key = find_key("limits", "max_header_bytes");
  ASSERT_NE(key, nullptr);
  EXPECT_LE(std::get<IntegerSetting>(key->setting).high,
            static_cast<std::int64_t>(net_defaults::kReadAhead));
}

}  // namespace
}  // namespace weft
