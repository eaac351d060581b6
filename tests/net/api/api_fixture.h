#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/tests/net/api/tiny_model.h"

namespace weft::test {

/// Returns "param code" of a refusal with status 400, which must be well formed as well; "200" for
/// none.
template <class T>
std::string verdict(const ApiResult<T>& result) {
  if (result) return "200";
  const ApiError& error = result.error();
  const boost::json::value body = boost::json::parse(error_body(error));
  EXPECT_FALSE(error.message.empty());
  EXPECT_EQ(body.at("error").at("message"), boost::json::value(error.message));
  const std::string status = error.status == 400 ? "" : std::to_string(error.status) + " ";
  return status + (error.param.empty() ? "-" : error.param) + " " + error.code;
}

/// A tiny model, and functions that decode bodies for it.
class ApiFixture : public testing::Test {
 public:
  simdjson::dom::object body(std::string_view text) {
    const auto parsed = parser.parse(text);
    EXPECT_TRUE(parsed) << text;
    return parsed ? *parsed : simdjson::dom::object();
  }

  std::shared_ptr<ServedModel> model = std::make_shared<ServedModel>(tiny_model());
  ModelCard card{.name = "tiny", .created = 7, .model = model};
  ApiContext context{.card = card,
                     .id = "42",
                     .created = 1000,
                     .client = "somebody",
                     .timeout = std::chrono::milliseconds(500)};
  BodyParser parser;
};

}  // namespace weft::test
