#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "weft/grammar/calls/call_writer.h"
#include "weft/grammar/schema/json_parts.h"
#include "weft/grammar/schema/json_schema.h"

// Arguments of CallBody::kPairs: {key:value,...} with bare keys, and texts between two tags.

namespace weft::grammar {
namespace {

using SchemaValue = boost::json::value;
using SchemaObject = boost::json::object;

// Deeper lists and objects are written as JSON, which the reader accepts as well.
constexpr int kMaxPairDepth = 8;

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

/// Returns whether a schema has no other keywords than these and annotations.
bool has_only(const SchemaObject& schema, std::initializer_list<std::string_view> known) {
  return std::ranges::all_of(schema, [&](const auto& entry) {
    const std::string_view key = entry.key();
    return is_annotation(key) || std::ranges::find(known, key) != known.end();
  });
}

std::string_view type_of(const SchemaObject& schema) {
  const SchemaValue* const type = schema.if_contains("type");
  return type != nullptr && type->is_string() ? std::string_view(type->get_string())
                                              : std::string_view{};
}

}  // namespace

CallWriter::Part CallWriter::pair_call(std::span<const CallableTool> tools) {
  const Part rest = each_of(tools, [&](const CallableTool& tool) {
    return builder_.sequence({builder_.literal(tool.name), pair_arguments(tool)});
  });
  return builder_.sequence({markup(syntax_.name_open), rest});
}

/// Sorts the parameters by key, as the templates of such families do, and so their models.
CallWriter::Part CallWriter::pair_arguments(const CallableTool& tool) {
  if (!tool.by_schema) return any_pairs();
  std::vector<Parameter> parameters = parameters_of(tool);
  std::ranges::sort(parameters, {},
                    [](const Parameter& one) { return std::pair(lower_case(one.name), one.name); });
  std::vector<Part> parts;
  for (const Parameter& one : parameters) {
    if (error_) return {};
    parts.push_back(
        builder_.sequence({builder_.literal(one.name + ":"), pair_value(one.schema, one.path, 0)}));
  }
  return builder_.sequence({builder_.literal("{"),
                            in_order(parameters, builder_.literal(","), parts),
                            builder_.literal("}")});
}

CallWriter::Part CallWriter::pair_text(Part text) {
  return builder_.sequence({markup(syntax_.value_open), text, markup(syntax_.value_close)});
}

CallWriter::Part CallWriter::pair_value(const Value& schema, const std::string& path, int depth) {
  const Object* const object = schema.if_object();
  if (object != nullptr && depth < kMaxPairDepth) {
    const std::string_view type = type_of(*object);
    if (type == "string" && !object->contains("pattern")) {
      return pair_text(tagged_text({{}, schema, false, path}));
    }
    if (type == "array" && object->contains("items") && has_only(*object, {"type", "items"})) {
      return pair_list(object->at("items"), below(path, "items"), depth);
    }
    if (type == "object" &&
        has_only(*object, {"type", "properties", "required", "additionalProperties"})) {
      return pair_object(*object, path, depth);
    }
  }
  // The value is written as JSON, which cannot contain a tag.
  return schema_part(schema, path, ValueForm::kTagged);
}

CallWriter::Part CallWriter::pair_list(const Value& items, const std::string& path, int depth) {
  const Part item = pair_value(items, path, depth + 1);
  const Part more = builder_.sequence({builder_.literal(","), item});
  const Part all = builder_.sequence({item, builder_.repeat(more, 0, GrammarBuilder::kNoBound)});
  return builder_.sequence({builder_.literal("["), builder_.optional(all), builder_.literal("]")});
}

CallWriter::Part CallWriter::pair_object(const Object& schema, const std::string& path, int depth) {
  const Value whole(schema);
  std::vector<Parameter> members = parameters_of({{}, &whole, true, path});
  std::vector<Part> parts;
  for (const Parameter& one : members) {
    if (error_) return {};
    parts.push_back(builder_.sequence(
        {builder_.literal(one.name + ":"), pair_value(one.schema, one.path, depth + 1)}));
  }
  return builder_.sequence({builder_.literal("{"), in_order(members, builder_.literal(","), parts),
                            builder_.literal("}")});
}

/// Returns any object in the form of pairs.
CallWriter::Part CallWriter::any_pairs() {
  const Part comma = builder_.literal(",");
  const auto several = [&](Part one) {
    const Part more = builder_.sequence({comma, one});
    return builder_.optional(
        builder_.sequence({one, builder_.repeat(more, 0, GrammarBuilder::kNoBound)}));
  };
  const Part value = builder_.reserve_rule();
  const Part key = builder_.regex("[A-Za-z_][A-Za-z0-9_.-]{0,63}").value();
  const Part pair = builder_.sequence({key, builder_.literal(":"), value});
  const Part object =
      builder_.sequence({builder_.literal("{"), several(pair), builder_.literal("}")});
  const Part list =
      builder_.sequence({builder_.literal("["), several(value), builder_.literal("]")});
  const Part text = pair_text(builder_.text_without(std::vector<std::string>{syntax_.value_close}));
  const std::vector<std::string> words = {"true", "false", "null"};
  builder_.define(
      value, builder_.any_of({text, builder_.json().number, builder_.choice(words), object, list}));
  return object;
}

}  // namespace weft::grammar
