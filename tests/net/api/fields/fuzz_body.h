#pragma once

#include <boost/json/parse.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/core/text/utf8.h"
#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/fields/sampling_fields.h"
#include "weft/tests/fixture/fuzz_input.h"
#include "weft/tests/net/api/tiny_model.h"

namespace weft::test {

/// Returns the tiny model under its name, made once.
inline const ModelCard& tiny_card() {
  static const ModelCard card{
      .name = "tiny", .created = 1, .model = std::make_shared<const ServedModel>(tiny_model())};
  return card;
}

/// Checks that a refusal blames the client, and that its body is JSON in UTF-8, not much longer
/// than a page.
inline void require_refusal(const ApiError& error) {
  const std::string body = error_body(error);
  boost::system::error_code no_json;
  const boost::json::value value = boost::json::parse(body, no_json);
  fuzz_require(!no_json.failed() && is_utf8(body));
  fuzz_require(error.status == 400 || error.status == 404);
  fuzz_require(!error.message.empty() && !error.code.empty() && body.size() < 16'384);
}

/// Checks that an accepted request is valid for the engine.
inline void require_valid(const Request& request) {
  fuzz_require(validate(request.sampling, kTinyVocabulary).has_value());
  fuzz_require(request.max_tokens >= 0);
  const int prompts = (request.prompt.empty() ? 0 : 1) + (request.prompt_tokens.empty() ? 0 : 1) +
                      (request.messages.empty() ? 0 : 1);
  fuzz_require(prompts == 1);
}

/// Parses the input and gives it to `read` twice, which must return the same; then checks the
/// result.
template <class Read, class Check>
void fuzz_body(const std::uint8_t* data, std::size_t size, const Read& read, const Check& check) {
  BodyParser parser;
  const auto body = parser.parse(fuzz_text(data, size));
  if (!body) return require_refusal(body.error());
  const auto request = read(*body);
  fuzz_require(request.has_value() == read(*body).has_value());
  if (!request) return require_refusal(request.error());
  for (const Request& part : request->parts) require_valid(part);
  check(*request);
}

}  // namespace weft::test
