#include "weft/net/api/error_shape.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

#include "weft/net/api/fields/time_text.h"

namespace weft {
namespace {

TEST(ErrorShapeTest, FollowsThePath) {
  using enum ErrorShape;
  for (const char* path : {"/v1/messages", "/v1/messages/count_tokens", "/v1/messages?beta=true"}) {
    EXPECT_EQ(error_shape_of(path), kAnthropic) << path;
  }
  for (const char* path : {"/api", "/api/chat", "/api/nowhere?x=1"}) {
    EXPECT_EQ(error_shape_of(path), kOllama) << path;
  }
  for (const char* path : {"", "/", "/v1/messagesx", "/v1/chat/completions", "/apis", "*"}) {
    EXPECT_EQ(error_shape_of(path), kOpenAi) << path;
  }
}

TEST(ErrorShapeTest, EachApiIsToldInItsForm) {
  const ApiError error = bad_field("stop[1]", "is \"empty\"");
  EXPECT_EQ(error_body(error, ErrorShape::kOpenAi, "req_1"), error_body(error));
  EXPECT_EQ(error_body(error, ErrorShape::kAnthropic, "req_1"),
            R"({"type":"error","error":{"type":"invalid_request_error",)"
            R"("message":"stop[1]: is \"empty\"","details":{"error_code":"invalid_value"}},)"
            R"("request_id":"req_1"})");
  EXPECT_EQ(error_body(error, ErrorShape::kAnthropic),
            R"({"type":"error","error":{"type":"invalid_request_error",)"
            R"("message":"stop[1]: is \"empty\"","details":{"error_code":"invalid_value"}}})")
      << "of an event of a stream";
  EXPECT_EQ(error_body(error, ErrorShape::kOllama, "req_1"),
            R"({"error":"stop[1]: is \"empty\""})");
}

TEST(ErrorShapeTest, StatusesHaveAnthropicsTypes) {
  const auto type_of = [](int status) {
    const auto body =
        boost::json::parse(error_body({.status = status, .message = "no"}, ErrorShape::kAnthropic));
    return std::string(body.at("error").at("type").as_string());
  };
  EXPECT_EQ(type_of(400), "invalid_request_error");
  EXPECT_EQ(type_of(401), "authentication_error");
  EXPECT_EQ(type_of(403), "permission_error");
  EXPECT_EQ(type_of(404), "not_found_error");
  EXPECT_EQ(type_of(405), "invalid_request_error");
  EXPECT_EQ(type_of(408), "timeout_error");
  EXPECT_EQ(type_of(413), "request_too_large");
  EXPECT_EQ(type_of(429), "rate_limit_error");
  EXPECT_EQ(type_of(500), "api_error");
  EXPECT_EQ(type_of(503), "overloaded_error");
}

TEST(ErrorShapeTest, WhatIsTooLongIsSaidInTheWordsThatAnthropicsClientsLookFor) {
  ApiError error{.code = std::string(api_code::kContextLength), .message = "This model's ..."};
  EXPECT_EQ(error_body(error, ErrorShape::kAnthropic),
            R"({"type":"error","error":{"type":"invalid_request_error",)"
            R"("message":"prompt is too long: This model's ...",)"
            R"("details":{"error_code":"context_length_exceeded"}}})");
}

TEST(TimeTextTest, IsOfRfc3339) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(rfc3339(1'709'164'799), "2024-02-28T23:59:59Z");
  EXPECT_EQ(rfc3339(1'709'164'800), "2024-02-29T00:00:00Z");
  EXPECT_EQ(rfc3339(-1), "1969-12-31T23:59:59Z");
}

}  // namespace
}  // namespace weft
