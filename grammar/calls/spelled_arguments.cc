#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <set>
#include <string>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/grammar/byte_dfa.h"
#include "weft/grammar/calls/call_writer.h"
#include "weft/grammar/grammar_error.h"
#include "weft/grammar/schema/json_parts.h"
#include "weft/grammar/schema/json_schema.h"
#include "weft/grammar/schema/string_lengths.h"
#include "weft/text/format/tool_schemas.h"

// Arguments that a family writes one by one: between tags, or in Python's form.

namespace weft::grammar {
namespace {

using SchemaValue = boost::json::value;
using SchemaObject = boost::json::object;

bool is_identifier(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
  });
}

/// Returns whether a name can stand between two tags, whatever characters it has.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != ' ' && name.back() != ' ' &&
         std::ranges::none_of(name, [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == '<' || c == '>' || c == '"';
         });
}

/// Returns the schema that a function's whole schema refers to; without a reference, the schema.
const SchemaObject& root_of(const SchemaValue& whole) {
  const SchemaObject* found = whole.if_object();
  for (int i = 0; i < 8; ++i) {
    const SchemaValue* const ref = found->if_contains("$ref");
    const auto* const text = ref == nullptr ? nullptr : ref->if_string();
    if (text == nullptr || !text->starts_with("#/")) break;
    boost::system::error_code missing;
    const SchemaValue* const target =
        whole.find_pointer(std::string_view(*text).substr(1), missing);
    if (target == nullptr || !target->is_object()) break;
    found = target->if_object();
  }
  return *found;
}

/// Whether a schema may contain a reference.
bool has_reference(const SchemaValue& schema) {
  if (const auto* const list = schema.if_array()) return std::ranges::any_of(*list, has_reference);
  const SchemaObject* const object = schema.if_object();
  return object != nullptr && std::ranges::any_of(*object, [](const auto& entry) {
           return entry.key() == "$ref" || has_reference(entry.value());
         });
}

/// Returns the definitions of a whole schema, which its properties may refer to.
SchemaObject definitions_of(const SchemaObject& whole) {
  SchemaObject definitions;
  for (const std::string_view name : {"$defs", "definitions"}) {
    if (const SchemaValue* const found = whole.if_contains(name)) definitions[name] = *found;
  }
  return definitions;
}

/// Bytes of copied definitions that cost one step of defaults::kMaxSchemaWork. All copies of a
/// request are thus bounded by some 6 MB of JSON.
constexpr std::size_t kCopiedBytesOfStep = 64;

}  // namespace

/// Returns whether a parameter's name can be written in the family's form.
bool CallWriter::may_be_written(const std::string& name) const {
  const bool is_lenient = strictness_ == Strictness::kLenient;
  return is_identifier(name) ||
         (is_lenient && syntax_.body == CallBody::kTagged && is_plain_name(name));
}

/// Returns the properties in their order. The schema's other keywords cannot be enforced here.
std::vector<CallWriter::Parameter> CallWriter::parameters_of(const CallableTool& tool) {
  std::vector<Parameter> all;
  const Object* const whole = tool.parameters == nullptr ? nullptr : tool.parameters->if_object();
  if (whole == nullptr) return all;
  const Object* const schema =
      strictness_ == Strictness::kLenient ? &root_of(*tool.parameters) : whole;
  if (const Value* const list = schema->if_contains("properties"); list != nullptr) {
    const Object* const properties = list->if_object();
    if (properties == nullptr) {
      fail(below(tool.path, "properties"), "must be an object");
      return all;
    }
    const Object definitions = tool.by_schema ? definitions_of(*whole) : Object();
    const std::size_t copy = 1 + boost::json::serialize(definitions).size() / kCopiedBytesOfStep;
    for (const auto& [key, value] : *properties) {
      const std::string path = below(below(tool.path, "properties"), key);
      if (!may_be_written(std::string(key))) {
        if (!lets_pass(path, "a name of letters, digits, '_', '-' and '.' is supported"))
          return all;
        continue;
      }
      all.push_back({std::string(key), value, false, path});
      if (definitions.empty() || !value.is_object() || !has_reference(value)) continue;
      if (!builder_.spend(copy)) {
        if (!error_) error_ = Error{GrammarErrc::kTooComplex, path + ": the schema is too large"};
        return all;
      }
      // Each property is read as a whole schema.
      Object& own = all.back().schema.get_object();
      for (const auto& [name, value_of_name] : definitions) own.emplace(name, value_of_name);
    }
  }
  if (!tool.by_schema) return all;
  constexpr std::array<std::string_view, 4> kRead = {"type", "properties", "required",
                                                     "additionalProperties"};
  for (const auto& [key, value] : *schema) {
    if (std::ranges::find(kRead, std::string_view(key)) == kRead.end() && !is_annotation(key) &&
        key != "$ref") {
      lets_pass(below(tool.path, key), "is not supported for a model that spells each argument");
    }
  }
  if (schema->contains("$ref")) {
    lets_pass(below(tool.path, "$ref"), "is not supported at this place");
  }
  add_required(tool, *schema, all);
  return all;
}

/// Marks the required parameters, and adds the required ones that no property describes.
void CallWriter::add_required(const CallableTool& tool, const Object& schema,
                              std::vector<Parameter>& all) {
  const Value* const required = schema.if_contains("required");
  if (required == nullptr) return;
  if (!required->is_array()) fail(below(tool.path, "required"), "must be a list");
  std::set<std::string, std::less<>> names;
  for (const Value& name : required->is_array() ? required->get_array() : boost::json::array()) {
    if (name.is_string()) names.emplace(name.get_string().data(), name.get_string().size());
  }
  for (Parameter& one : all) one.is_required = names.erase(one.name) > 0;
  for (const std::string& name : names) {
    const std::string where = below(tool.path, "required");
    const std::string shown = "'" + std::string(cut_utf8(name, 80)) + "'";
    if (strictness_ == Strictness::kStrict || !may_be_written(name)) {
      if (!lets_pass(where, "names " + shown + ", which no property does")) return;
    } else {
      all.push_back({name, true, true, where});
    }
  }
}

/// Returns the parts of parameters in their order. A parameter that is not required may be missing.
/// `between` separates the parts.
CallWriter::Part CallWriter::in_order(std::span<const Parameter> parameters, Part between,
                                      const std::vector<Part>& parts) {
  Part rest;   // the text that may follow once a part has come
  Part first;  // the text that may follow while no part has come
  for (std::size_t i = parameters.size(); i > 0; --i) {
    const Part part = parts[i - 1];
    const Part begun = builder_.sequence({part, rest});
    const Part with = builder_.sequence({between, part, rest});
    rest = parameters[i - 1].is_required ? with : builder_.any_of({with, rest});
    first = parameters[i - 1].is_required ? begun : builder_.any_of({begun, first});
  }
  return first;
}

CallWriter::Part CallWriter::tagged_call(std::span<const CallableTool> tools) {
  const bool line = syntax_.name_close.find_first_not_of(" \n\t\r") == std::string::npos;
  // Some models leave out the line break after the name; the arguments' tag ends the name too.
  const Part name_close =
      line ? builder_.optional(markup(syntax_.name_close)) : markup(syntax_.name_close);
  const Part rest = each_of(tools, [&](const CallableTool& tool) {
    if (tool.name.find_first_of("<>\"") != std::string::npos) {
      return fail(tool.path, "the function's name cannot stand in a tag");
    }
    return builder_.sequence(
        {builder_.literal(tool.name), name_close, space_, tagged_arguments(tool)});
  });
  return builder_.sequence({markup(syntax_.name_open), rest, markup(syntax_.body_close)});
}

CallWriter::Part CallWriter::tagged_arguments(const CallableTool& tool) {
  const std::vector<Parameter> parameters = parameters_of(tool);
  std::vector<Part> parts;
  for (const Parameter& one : parameters) {
    if (error_) return {};
    const Part key = builder_.sequence({markup(syntax_.key_open), builder_.literal(one.name),
                                        type_mark(one), markup(syntax_.key_close)});
    const Part opens = syntax_.value_open.empty()
                           ? Part{}
                           : builder_.sequence({space_, markup(syntax_.value_open)});
    parts.push_back(builder_.sequence(
        {key, opens, tagged_value(one, tool.by_schema), markup(syntax_.value_close), space_}));
  }
  if (tool.by_schema) return in_order(parameters, {}, parts);
  return parts.empty() ? Part{}
                       : builder_.repeat(builder_.any_of(parts), 0, GrammarBuilder::kNoBound);
}

/// Returns the mark beside a key that says whether its value is a text.
CallWriter::Part CallWriter::type_mark(const Parameter& one) {
  if (syntax_.type_mark.empty()) return {};
  const Object* const schema = one.schema.if_object();
  const Value* const type = schema == nullptr ? nullptr : schema->if_contains("type");
  const bool is_bare = type != nullptr && *type == Value("string");
  return builder_.literal(syntax_.type_mark + (is_bare ? "true" : "false"));
}

CallWriter::Part CallWriter::tagged_value(const Parameter& one, bool by_schema) {
  const std::vector<std::string> ends{syntax_.value_close};
  if (!by_schema) return builder_.text_without(ends);
  const Object* const schema = one.schema.if_object();
  const Value* const type = schema == nullptr ? nullptr : schema->if_contains("type");
  const bool is_text = type != nullptr && *type == Value("string");
  if (!is_text) {
    const Value& whole = one.schema;
    if (boost::json::serialize(whole).find(syntax_.value_close) != std::string::npos) {
      const bool passes =
          lets_pass(one.path, "has '" + syntax_.value_close + "' in it, which ends an argument");
      return passes ? builder_.text_without(ends) : Part{};
    }
    return builder_.sequence({space_, schema_part(whole, one.path, ValueForm::kTagged), space_});
  }
  const Part value = tagged_text(one);
  // Values on their own lines have a line end before and after them.
  if (!syntax_.value_open.empty() || syntax_.inline_values) return value;
  const Part line = builder_.optional(builder_.literal("\n"));
  return builder_.sequence({line, value, line});
}

/// Returns a text without quotation marks.
CallWriter::Part CallWriter::tagged_text(const Parameter& one) {
  const Object& schema = one.schema.get_object();
  if (schema.contains("enum") || schema.contains("const")) return given_text(schema, one.path);
  std::optional<std::string> format;
  std::uint32_t least = 0;
  std::uint32_t most = GrammarBuilder::kNoBound;
  for (const auto& [key, value] : schema) {
    boost::system::error_code failed;
    const auto count = value.is_number() ? value.to_number<std::uint32_t>(failed) : 0;
    if (key == "minLength" && value.is_number() && !failed) {
      least = count;
    } else if (key == "maxLength" && value.is_number() && !failed) {
      most = count;
    } else if (key == "format" && value.is_string() && format_regex(value.get_string())) {
      format = value.get_string();
    } else if (key == "nullable" && value.is_bool()) {
      continue;  // a text between tags is never null
    } else if (key != "type" && !is_annotation(key)) {
      if (!lets_pass(below(one.path, key), kNotBetweenTags)) return {};
    }
  }
  const bool bounded = least > 0 || most != GrammarBuilder::kNoBound;
  if (format) {
    if (const auto part = format_part(builder_, *format, {least, most}, {})) return *part;
    const bool passes =
        lets_pass(below(one.path, "format"), "is too complex beside minLength and maxLength");
    return passes ? builder_.regex(*format_regex(*format)).value() : Part{};
  }
  if (!bounded) return builder_.text_without(std::vector<std::string>{syntax_.value_close});
  if (most < least) return builder_.any_of(std::span<const Part>());
  // A text whose length counts is kept on one line without tags, because line ends and tags would
  // change its length.
  const CodeSet plain =
      CodeSet::all().without(CodeSet({{U'\n', U'\n'}, {U'\r', U'\r'}, {U'<', U'<'}}));
  return builder_.repeat(builder_.dfa(utf8_dfa(plain)), least, most);
}

CallWriter::Part CallWriter::given_text(const Object& schema, const std::string& path) {
  constexpr std::array<std::string_view, 3> kRead = {"type", "enum", "const"};
  for (const auto& [key, value] : schema) {
    const bool is_read = std::ranges::find(kRead, std::string_view(key)) != kRead.end();
    if (is_read || is_annotation(key) || key == "nullable") continue;
    if (!lets_pass(below(path, key), "is not supported beside enum or const")) return {};
  }
  const Value* const list = schema.if_contains("enum");
  const Value* const single = schema.if_contains("const");
  if (list != nullptr && !list->is_array()) return fail(below(path, "enum"), "must be a list");
  boost::json::array values = list != nullptr ? list->get_array() : boost::json::array{*single};
  if (list != nullptr && single != nullptr) {
    const bool is_listed = std::ranges::find(values, *single) != values.end();
    values = is_listed ? boost::json::array{*single} : boost::json::array{};
  }
  std::vector<std::string> texts;
  for (const Value& value : values) {
    if (!value.is_string()) continue;  // the type belongs to texts
    const std::string_view text = value.get_string();
    if (text.find(syntax_.value_close) != std::string_view::npos || text.starts_with('\n') ||
        text.ends_with('\n')) {
      if (!lets_pass(path, "has a value that cannot stand between tags")) return {};
      continue;
    }
    texts.emplace_back(text);
  }
  if (texts.empty() && strictness_ == Strictness::kLenient) {
    return builder_.text_without(std::vector<std::string>{syntax_.value_close});
  }
  return builder_.choice(texts);
}

CallWriter::Part CallWriter::python_call(std::span<const CallableTool> tools) {
  return each_of(tools, [&](const CallableTool& tool) {
    return builder_.sequence(
        {builder_.literal(tool.name + "("), python_arguments(tool), builder_.literal(")")});
  });
}

CallWriter::Part CallWriter::python_arguments(const CallableTool& tool) {
  const std::vector<Parameter> parameters = parameters_of(tool);
  std::vector<Part> parts;
  for (const Parameter& one : parameters) {
    if (error_) return {};
    parts.push_back(
        builder_.sequence({builder_.literal(one.name + "="), python_value(one, tool.by_schema)}));
  }
  return in_order(parameters, builder_.sequence({builder_.literal(","), space_}), parts);
}

CallWriter::Part CallWriter::python_value(const Parameter& one, bool by_schema) {
  const Value any(true);
  const Value& schema = by_schema ? one.schema : any;
  const Part value = schema_part(schema, one.path, ValueForm::kPython);
  const auto quoted = single_quoted(schema);
  return quoted ? builder_.any_of({value, *quoted}) : value;
}

/// Returns a text between single quotes, as the templates of such families print it. Returns
/// nothing where the schema constrains the text other than by listing its values.
std::optional<CallWriter::Part> CallWriter::single_quoted(const Value& schema) {
  const Part quote = builder_.literal("'");
  const CodeSet plain =
      CodeSet::all().without(CodeSet({{0, 0x1F}, {U'\'', U'\''}, {U'\\', U'\\'}}));
  const Object* const object = schema.if_object();
  std::vector<std::string> texts;
  if (object != nullptr) {
    for (const auto& [key, value] : *object) {
      const bool is_type = key == "type" && value == Value("string");
      if (key != "enum" && !is_type && !is_annotation(key)) return std::nullopt;
    }
    const Value* const list = object->if_contains("enum");
    if (list == nullptr && !object->contains("type")) return std::nullopt;
    if (list != nullptr) {
      if (!list->is_array()) return std::nullopt;
      for (const Value& one : list->get_array()) {
        if (!one.is_string()) return std::nullopt;
        const std::string_view text = one.get_string();
        const bool is_plain =
            text.find_first_of("'\\") == std::string_view::npos &&
            std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
        if (!is_plain) return std::nullopt;
        texts.emplace_back(text);
      }
      return builder_.sequence({quote, builder_.choice(texts), quote});
    }
  }
  const Part text = builder_.repeat(builder_.dfa(utf8_dfa(plain)), 0, GrammarBuilder::kNoBound);
  return builder_.sequence({quote, text, quote});
}

}  // namespace weft::grammar
