#include "weft/text/json/json_document.h"

#include "weft/text/text_error.h"

namespace weft {

Result<JsonDocument> JsonDocument::parse(std::string_view text, std::string_view name) {
  JsonDocument document;
  document.parser_ = std::make_unique<simdjson::dom::parser>();
  simdjson::error_code status = document.parser_->allocate(text.size(), kMaxDepth);
  if (status == simdjson::SUCCESS) {
    status = document.parser_->parse(text.data(), text.size()).get(document.root_);
  }
  if (status != simdjson::SUCCESS) {
    return Error{make_error_code(TextErrc::kBadTokenizer),
                 std::string(name) + " is not valid JSON: " + simdjson::error_message(status)};
  }
  return document;
}

}  // namespace weft
