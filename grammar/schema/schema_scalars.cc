#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/text/utf8.h"
#include "weft/grammar/forms/regex.h"
#include "weft/grammar/schema/json_parts.h"
#include "weft/grammar/schema/json_schema.h"
#include "weft/grammar/schema/string_lengths.h"

namespace weft::grammar {

SchemaReader::Part SchemaReader::string_part(const Object& object, const std::string& path) {
  const TextLength length{count(object, "minLength", path).value_or(0),
                          count(object, "maxLength", path).value_or(kNoBound)};
  if (error_) return {};
  if (length.least > length.most || length.least >= kNoBound)
    return builder_.any_of(std::span<const Part>());
  const bool is_free = !object.contains("pattern") && !object.contains("format");
  const auto contents = is_free ? std::nullopt : string_contents(object, length, path);
  if (error_) return {};
  if (!contents) return plain_string(object, length, path);
  if (object.contains(kExcept) && !lets_pass(below(path, "not"), {})) return {};
  const Part quote = builder_.literal("\"");
  return builder_.sequence({quote, *contents, quote});
}

/// Returns a string of any characters.
SchemaReader::Part SchemaReader::plain_string(const Object& object, TextLength length,
                                              const std::string& path) {
  const JsonParts& json = builder_.json();
  const Part quote = builder_.literal("\"");
  const bool is_bounded = length.least > 0 || length.most < kNoBound;
  std::vector<std::string> others;
  if (const Value* const except = object.if_contains(kExcept)) {
    for (const Value& one : except->get_array()) {
      if (one.is_string()) others.push_back(json_escaped(std::string_view(one.get_string())));
    }
  }
  if (!others.empty() && (is_bounded || builder_.value_form() == ValueForm::kTagged)) {
    lets_pass(below(path, "not"), {});
    others.clear();
  }
  if (!others.empty()) {
    std::size_t bytes = 0;
    for (const std::string& one : others) bytes += one.size();
    if (!work(bytes * 4)) return {};
    return builder_.sequence({quote, builder_.dfa(json_text_except(others)), quote});
  }
  if (!is_bounded) return json.string;
  return builder_.sequence(
      {quote,
       builder_.repeat(json.character, static_cast<std::uint32_t>(length.least),
                       static_cast<std::uint32_t>(length.most)),
       quote});
}

/// Returns the contents of a string with a pattern or a format; nothing where these are let pass.
std::optional<SchemaReader::Part> SchemaReader::string_contents(const Object& object,
                                                                TextLength length,
                                                                const std::string& path) {
  const Value* const pattern = object.if_contains("pattern");
  const Value* const format = object.if_contains("format");
  for (const Value* const one : {pattern, format}) {
    if (one == nullptr || one->is_string()) continue;
    fail(below(path, one == pattern ? "pattern" : "format"), "must be a string", false);
    return std::nullopt;
  }
  const std::string of_pattern = below(path, "pattern");
  const std::string of_format = below(path, "format");
  std::optional<Part> contents;
  if (pattern != nullptr) {
    const std::string_view text = pattern->get_string();
    if (builder_.value_form() == ValueForm::kTagged) {
      if (!lets_pass(of_pattern, kNotBetweenTags)) return std::nullopt;
    } else if (!work(text.size() / 4)) {
      return std::nullopt;
    } else if (auto read = read_regex(builder_, text, {.in_json = true, .searches = true})) {
      contents = *read;
    } else if (!lets_pass(of_pattern, read.error().detail)) {
      return std::nullopt;
    }
  }
  if (contents && format != nullptr) {
    if (!lets_pass(of_format, "is not supported beside pattern")) return std::nullopt;
  } else if (format != nullptr) {
    const std::string_view text = format->get_string();
    if (!format_regex(text)) {
      lets_pass(of_format, "'" + std::string(cut_utf8(text, 80)) + "' is not supported");
      return std::nullopt;
    }
    if (auto part = format_part(builder_, text, length, {.in_json = true})) return part;
    return uncounted(read_regex(builder_, *format_regex(text), {.in_json = true}).value(),
                     of_format);
  }
  if (!contents || builder_.too_large()) return contents;
  if (const auto counted = counted_part(builder_, *contents, length)) return counted;
  return uncounted(*contents, of_pattern);
}

/// Returns contents of any length, where the length is let pass.
std::optional<SchemaReader::Part> SchemaReader::uncounted(Part contents, const std::string& path) {
  if (!work(0) || !lets_pass(path, "is too complex beside minLength and maxLength")) {
    return std::nullopt;
  }
  return contents;
}

}  // namespace weft::grammar
