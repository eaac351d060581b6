#include "weft/net/http/http_reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::string text_of(const HttpHead& head) {
  std::string text;
  append_head(head, text);
  return text;
}

TEST(HttpReplyTest, TellsAnErrorByStatusAndBody) {
  const ApiError error = bad_field("stop", "is too long");
  const HttpReply reply = error_reply(error);
  EXPECT_EQ(reply.status, 400U);
  EXPECT_EQ(reply.content_type, "application/json");
  EXPECT_EQ(reply.body, error_body(error));
  EXPECT_THAT(reply.headers, IsEmpty());
  EXPECT_FALSE(reply.close);
}

TEST(HttpReplyTest, AnExceptionBecomesA500ThatDoesNotTellIt) {
  const HttpReply failed =
      reply_or_500([]() -> HttpReply { throw std::runtime_error("no more memory"); });
  EXPECT_EQ(failed.status, 500U);
  EXPECT_THAT(failed.body, testing::HasSubstr("internal_error"));
  EXPECT_THAT(failed.body, testing::Not(testing::HasSubstr("memory")));
  EXPECT_EQ(reply_or_500([] { return HttpReply{.body = "x"}; }).body, "x");
}

TEST(HttpReplyTest, SaysWhenToTryAgainInWholeSecondsThatAreEnough) {
  const auto headers = [](std::chrono::milliseconds later) {
    return error_reply({.status = 429, .retry_after = later}).headers;
  };
  EXPECT_THAT(headers(std::chrono::milliseconds(1)), ElementsAre(Pair("Retry-After", "1")));
  EXPECT_THAT(headers(std::chrono::milliseconds(1'500)), ElementsAre(Pair("Retry-After", "2")));
  EXPECT_THAT(headers(std::chrono::seconds(2)), ElementsAre(Pair("Retry-After", "2")));
  EXPECT_THAT(headers({}), IsEmpty());
}

TEST(HttpReplyTest, SaysHowToShowAKey) {
  EXPECT_THAT(error_reply({.status = 401}).headers,
              ElementsAre(Pair("WWW-Authenticate", "Bearer")));
}

TEST(HttpHeadTest, HasTheLengthOfAWholeAnswer) {
  const std::size_t length = 12;
  const std::vector<std::pair<std::string, std::string>> headers = {{"A", "b"}, {"C", "d"}};
  EXPECT_EQ(
      text_of(
          {.status = 200, .content_type = "text/plain", .headers = &headers, .length = &length}),
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nA: b\r\nC: d\r\n"
      "Content-Length: 12\r\n\r\n");
}

TEST(HttpHeadTest, HasADateWhereThereIsAClock) {
  const std::size_t length = 0;
  const std::string date = http_date(std::chrono::sys_seconds(std::chrono::seconds(784111777)));
  EXPECT_EQ(date, "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(text_of({.status = 200, .date = date, .length = &length}),
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n");
}

TEST(HttpHeadTest, SaysNothingOfABodyWhereThereCanBeNone) {
  const std::size_t length = 0;
  EXPECT_EQ(text_of({.status = 204, .length = &length}), "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(HttpHeadTest, SendsChunksWhereTheLengthIsNotKnownAndTheVersionHasThem) {
  EXPECT_EQ(text_of({.status = 200, .content_type = ""}),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(text_of({.status = 200, .content_type = "", .keep_alive = false, .http10 = true}),
            "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n");
}

TEST(HttpHeadTest, SaysWhetherTheConnectionGoesOnWhereItsVersionWouldNot) {
  const std::size_t length = 0;
  EXPECT_EQ(text_of({.status = 404, .content_type = "", .length = &length, .keep_alive = false}),
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(text_of({.status = 404, .content_type = "", .length = &length, .http10 = true}),
            "HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
}

TEST(HttpHeadTest, NamesTheStatusThatOnlyNginxHas) {
  const std::size_t length = 0;
  EXPECT_THAT(text_of({.status = 499, .content_type = "", .length = &length}),
              testing::StartsWith("HTTP/1.1 499 Client Closed Request\r\n"));
}

TEST(HttpChunkTest, HasItsLengthInHexadecimal) {
  std::string text;
  append_chunk("abc", text);
  append_chunk(std::string(31, 'x'), text);
  EXPECT_EQ(text, "3\r\nabc\r\n1f\r\n" + std::string(31, 'x') + "\r\n");
}

}  // namespace
}  // namespace weft
