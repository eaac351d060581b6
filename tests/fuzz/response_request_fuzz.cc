#include <boost/json/serialize.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/net/api/chat/conversation.h"
#include "weft/net/api/responses/response_request.h"
#include "weft/tests/net/api/fields/fuzz_body.h"

namespace weft {
namespace {

/// Checks that the sampling which a response echoes means the same when it is sent again.
void require_same_again(const ResponseRequest& request) {
  boost::json::object echo;
  const Request& part = request.parts.front();
  echo_sampling(part.sampling, echo);
  const std::string text = boost::json::serialize(echo);
  BodyParser parser;
  BodyFields fields(parser.parse(text).value());
  const SamplingParams again = take_sampling(fields, test::tiny_card().model->tokenizer);
  test::fuzz_require(!fields.finish());
  boost::json::object echo_again;
  echo_sampling(again, echo_again);
  test::fuzz_require(boost::json::serialize(echo_again) == text);
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::ApiContext context{.card = weft::test::tiny_card()};
  weft::StoredResponse previous;
  previous.conversation.push_back(weft::message_of("user", "before"));
  weft::test::fuzz_body(
      data, size,
      [&](simdjson::dom::object body) {
        return weft::read_response(body, context, &previous, true);
      },
      weft::require_same_again);
  return 0;
}
