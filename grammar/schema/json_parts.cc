#include "weft/grammar/schema/json_parts.h"

#include <array>
#include <charconv>
#include <vector>

#include "weft/grammar/defaults.h"

namespace weft::grammar {
namespace {

using Part = GrammarBuilder::Part;
using boost::json::value;

/// Returns first items and the rest between brackets, with a comma before each item but the first.
Part in_brackets(GrammarBuilder& builder, Part comma, Part space, char open, Part item,
                 char close) {
  const Part more = builder.sequence({comma, item});
  const Part items =
      builder.sequence({item, builder.repeat(more, 0, GrammarBuilder::kNoBound), space});
  return builder.sequence(
      {builder.literal({&open, 1}), space, builder.optional(items), builder.literal({&close, 1})});
}

/// Returns a character of a string that may have any characters.
ByteDfa character_dfa(ValueForm form) {
  switch (form) {
    case ValueForm::kPython:
      return json_character_dfa(CodeSet::all());
    case ValueForm::kTagged:
      return any_json_character_dfa(CodeSet::all().without(CodeSet({{U'<', U'<'}})));
    case ValueForm::kJson:
      break;
  }
  return any_json_character_dfa(CodeSet::all());
}

/// Returns white space where a writer of JSON may put it.
Part white_space(GrammarBuilder& builder) {
  const Part indentation =
      builder.any_of({builder.repeat(builder.literal(" "), 0, defaults::kMaxJsonIndent),
                      builder.repeat(builder.literal("\t"), 1, defaults::kMaxJsonIndent)});
  const Part line = builder.sequence(
      {builder.optional(builder.literal("\r")), builder.literal("\n"), indentation});
  return builder.optional(builder.any_of({builder.literal(" "), line}));
}

}  // namespace

JsonParts::JsonParts(GrammarBuilder& builder) {
  const JsonSpacing& spacing = builder.spacing();
  space = spacing.has_white_space ? white_space(builder) : Part{};
  comma = builder.sequence({builder.literal(spacing.item_separator), space});
  colon = builder.sequence({builder.literal(spacing.key_separator), space});
  character = builder.dfa(character_dfa(builder.value_form()));
  const Part quote = builder.literal("\"");
  string = builder.sequence({quote, builder.repeat(character, 0, GrammarBuilder::kNoBound), quote});
  number =
      builder.regex("-?(?:0|[1-9][0-9]{0,18})(?:\\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,2})?").value();
  integer = builder.regex("-?(?:0|[1-9][0-9]{0,18})").value();
  value = builder.reserve_rule();
  const Part member = builder.sequence({string, colon, value});
  object = builder.reserve_rule();
  builder.define(object, in_brackets(builder, comma, space, '{', member, '}'));
  array = in_brackets(builder, comma, space, '[', value, ']');
  const std::array<std::string, 3> words = {scalar_text(builder, boost::json::value(true)),
                                            scalar_text(builder, boost::json::value(false)),
                                            scalar_text(builder, boost::json::value())};
  builder.define(value, builder.any_of({object, array, string, number, builder.choice(words)}));
}

std::string decimal_text(const boost::json::value& number) {
  std::array<char, 512> text{};
  const auto write = [&] {
    if (number.is_int64()) return std::to_chars(text.begin(), text.end(), number.get_int64());
    if (number.is_uint64()) return std::to_chars(text.begin(), text.end(), number.get_uint64());
    return std::to_chars(text.begin(), text.end(), number.get_double(), std::chars_format::fixed);
  };
  return {text.data(), write().ptr};
}

std::string scalar_text(const GrammarBuilder& builder, const boost::json::value& value) {
  const bool python = builder.value_form() == ValueForm::kPython;
  switch (value.kind()) {
    case boost::json::kind::string:
      return '"' + json_escaped({value.get_string().data(), value.get_string().size()}) + '"';
    case boost::json::kind::bool_:
      if (python) return value.get_bool() ? "True" : "False";
      return value.get_bool() ? "true" : "false";
    case boost::json::kind::null:
      return python ? "None" : "null";
    default:
      return decimal_text(value);
  }
}

GrammarBuilder::Part given_value(GrammarBuilder& builder, const boost::json::value& value) {
  const JsonParts& json = builder.json();
  std::vector<Part> parts;
  const auto add_comma = [&] {
    if (parts.size() > 2) parts.push_back(json.comma);
  };
  if (const auto* object = value.if_object()) {
    parts = {builder.literal("{"), json.space};
    for (const auto& member : *object) {
      add_comma();
      parts.push_back(builder.literal('"' + json_escaped(member.key()) + '"'));
      parts.insert(parts.end(), {json.colon, given_value(builder, member.value())});
    }
    if (!object->empty()) parts.push_back(json.space);
    parts.push_back(builder.literal("}"));
    return builder.sequence(parts);
  }
  if (const auto* array = value.if_array()) {
    parts = {builder.literal("["), json.space};
    for (const auto& item : *array) {
      add_comma();
      parts.push_back(given_value(builder, item));
    }
    if (!array->empty()) parts.push_back(json.space);
    parts.push_back(builder.literal("]"));
    return builder.sequence(parts);
  }
  return builder.literal(scalar_text(builder, value));
}

}  // namespace weft::grammar
