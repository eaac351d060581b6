#include "weft/cli/server_refusal.h"

#include <boost/json/parse.hpp>

#include "weft/net/net_error.h"

namespace weft::cli {
namespace {

namespace json = boost::json;

/// Returns the field NAME of {"error": {NAME: "..."}}; empty when the body has another form.
std::string error_field(const HttpAnswer& answer, const char* name) {
  json::error_code error;
  const json::value body = json::parse(answer.body, error);
  const json::value* field =
      error ? nullptr : body.find_pointer(std::string("/error/") + name, error);
  return field != nullptr && field->is_string() ? std::string(field->as_string()) : std::string();
}

}  // namespace

std::optional<Error> refusal_for_good(const HttpAnswer& answer) {
  if (answer.status == 401 || answer.status == 403) {
    return Error{NetErrc::kRefused, "it wants another key (--api-key, WEFT_API_KEY)"};
  }
  if (answer.status == 503 && error_field(answer, "code") == kEngineFailed) {
    return Error{NetErrc::kRefused, words_of(answer)};
  }
  return std::nullopt;
}

std::string words_of(const HttpAnswer& answer) {
  std::string message = error_field(answer, "message");
  return message.empty() ? "status " + std::to_string(answer.status) : message;
}

}  // namespace weft::cli
