#include <string>
#include <string_view>

#include "weft/core/text/trimmed.h"
#include "weft/grammar/grammar_error.h"
#include "weft/grammar/schema/json_schema.h"

namespace weft::grammar {
namespace {

using boost::json::value;

Error bad(const std::string& path, std::string_view reason) {
  return {GrammarErrc::kBadSchema, path + ": " + std::string(reason)};
}

}  // namespace

Result<JsonSpacing> spacing_of(const value& schema, std::string_view name) {
  JsonSpacing spacing;
  const auto* const object = schema.if_object();
  const value* const options = object == nullptr ? nullptr : object->if_contains(kSpacingKeyword);
  if (options == nullptr) return spacing;
  const std::string path = below(std::string(name), kSpacingKeyword);
  if (!options->is_object()) return bad(path, "must be an object");
  const auto given = [&](std::string_view key) -> const value* {
    const value* const found = options->get_object().if_contains(key);
    return found == nullptr || found->is_null() ? nullptr : found;
  };
  if (given("whitespace_pattern") != nullptr) {
    return Error{GrammarErrc::kUnsupportedSchema,
                 below(path, "whitespace_pattern") + " is not supported"};
  }
  if (const value* const flexible = given("whitespace_flexible")) {
    if (!flexible->is_bool()) return bad(below(path, "whitespace_flexible"), "must be a boolean");
    spacing.has_white_space = flexible->get_bool();
  }
  const auto read = [&](std::string_view key, std::string& separator) {
    const value* const text = given(key);
    if (text == nullptr) return true;
    if (!text->is_string() || trimmed(text->get_string()) != separator) return false;
    separator = text->get_string();
    return true;
  };
  if (!read("item_separator", spacing.item_separator)) {
    return bad(below(path, "item_separator"), "must be a comma with blanks around it");
  }
  if (!read("key_separator", spacing.key_separator)) {
    return bad(below(path, "key_separator"), "must be a colon with blanks around it");
  }
  return spacing;
}

}  // namespace weft::grammar
