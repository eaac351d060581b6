#include "weft/grammar/calls/call_writer.h"

#include <algorithm>
#include <utility>

#include "weft/grammar/byte_dfa.h"
#include "weft/grammar/defaults.h"
#include "weft/grammar/grammar_error.h"
#include "weft/grammar/schema/json_parts.h"
#include "weft/grammar/schema/json_schema.h"

namespace weft::grammar {

CallWriter::CallWriter(GrammarBuilder& builder, const OutputFormat& format,
                       std::span<const std::string> special)
    : builder_(builder), format_(format), syntax_(format.calls), special_(special) {
  const Part one = builder_.dfa(utf8_dfa(CodeSet({{U'\t', U'\n'}, {U'\r', U'\r'}, {U' ', U' '}})));
  space_ = builder_.repeat(one, 0, defaults::kMaxMarkupSpace);
}

CallWriter::Part CallWriter::fail(const std::string& path, std::string what) {
  if (!error_) error_ = Error{GrammarErrc::kUnsupportedSchema, path + ": " + std::move(what)};
  return {};
}

bool CallWriter::lets_pass(const std::string& path, std::string what) {
  if (strictness_ == Strictness::kStrict) {
    fail(path, std::move(what));
    return false;
  }
  builder_.let_pass(path);
  return !error_;
}

CallWriter::Part CallWriter::markup(std::string_view text) {
  std::vector<Part> parts;
  std::string plain;
  while (!text.empty()) {
    std::string_view token;
    for (const std::string& one : special_) {
      if (one.size() > token.size() && text.starts_with(one)) token = one;
    }
    if (token.empty()) {
      plain.push_back(text.front());
      text.remove_prefix(1);
      continue;
    }
    parts.push_back(builder_.literal(std::exchange(plain, {})));
    parts.push_back(builder_.special(token));
    text.remove_prefix(token.size());
  }
  parts.push_back(builder_.literal(plain));
  return builder_.sequence(parts);
}

CallWriter::Part CallWriter::text_without_calls() {
  if (!syntax_.open.empty()) {
    std::vector<std::string> begins{syntax_.open};
    if (!syntax_.group_open.empty()) begins.push_back(syntax_.group_open);
    // A parser also accepts a call without the outer tag, because some models forget it.
    if (syntax_.body == CallBody::kTagged && !syntax_.name_open.empty()) {
      begins.push_back(syntax_.name_open);
    }
    return builder_.text_without(begins);
  }
  // A parser may take a text that begins like a call for one.
  const char32_t opens = syntax_.body == CallBody::kPython ? U'[' : U'{';
  const CodeSet blank({{U'\t', U'\n'}, {U'\r', U'\r'}, {U' ', U' '}});
  const CodeSet first = CodeSet::all().without(blank).without(CodeSet({{opens, opens}}));
  const Part any =
      builder_.repeat(builder_.dfa(utf8_dfa(CodeSet::all())), 0, GrammarBuilder::kNoBound);
  const Part said = builder_.sequence({builder_.dfa(utf8_dfa(first)), any});
  return builder_.sequence(
      {builder_.repeat(builder_.dfa(utf8_dfa(blank)), 0, GrammarBuilder::kNoBound),
       builder_.optional(said)});
}

CallWriter::Part CallWriter::schema_part(const Value& schema, const std::string& path,
                                         ValueForm form) {
  builder_.write_values_as(form);
  const auto part = builder_.parsed_json_schema(schema, path, strictness_);
  builder_.write_values_as(ValueForm::kJson);
  if (part) return *part;
  if (!error_) error_ = part.error();
  return {};
}

/// Arguments are an object, even where the schema leaves their type open. A function that lists no
/// properties gets an empty object.
CallWriter::Part CallWriter::json_arguments(const CallableTool& tool) {
  if (!tool.by_schema || tool.parameters == nullptr) return builder_.json_object();
  const Object* const schema = tool.parameters->if_object();
  if (schema == nullptr) return fail(tool.path, "must be an object");
  const Value* const type = schema->if_contains("type");
  if (type != nullptr && *type != Value("object") &&
      !lets_pass(below(tool.path, "type"), "must be object")) {
    return {};
  }
  Object closed = *schema;
  closed["type"] = "object";
  closed.erase("nullable");
  const Value* const properties = schema->if_contains("properties");
  const bool takes_nothing = properties != nullptr && *properties == Value(Object());
  if (takes_nothing && !schema->contains("additionalProperties")) {
    closed["additionalProperties"] = false;
  }
  return schema_part(closed, tool.path, ValueForm::kJson);
}

CallWriter::Part CallWriter::json_call(std::span<const CallableTool> tools) {
  const auto key = [&](const std::string& name) {
    return builder_.sequence(
        {builder_.literal('"' + json_escaped(name) + '"'), builder_.json().colon});
  };
  const Part comma = builder_.json().comma;
  const Part id = syntax_.id_key.empty()
                      ? Part{}
                      : builder_.optional(builder_.sequence(
                            {key(syntax_.id_key), builder_.json().string, comma}));
  const Part arguments_key = key(syntax_.arguments_key);
  const Part rest = each_of(tools, [&](const CallableTool& tool) {
    return builder_.sequence({builder_.literal('"' + json_escaped(tool.name) + '"'), comma,
                              arguments_key, json_arguments(tool)});
  });
  return builder_.sequence({builder_.literal("{"), builder_.json().space, id, key(syntax_.name_key),
                            rest, builder_.json().space, builder_.literal("}")});
}

CallWriter::Part CallWriter::keyed_call(std::span<const CallableTool> tools) {
  const Part blank = builder_.json().space;
  const Part rest = each_of(tools, [&](const CallableTool& tool) {
    return builder_.sequence({builder_.literal('"' + json_escaped(tool.name) + '"'),
                              builder_.json().colon, json_arguments(tool)});
  });
  return builder_.sequence({builder_.literal("{"), blank, rest, blank, builder_.literal("}")});
}

CallWriter::Part CallWriter::named_call(std::span<const CallableTool> tools) {
  const auto pattern = [&](const std::string& text) {
    return text.empty() ? Part{} : builder_.regex(text).value();
  };
  const bool fenced = syntax_.name_close.find("```") != std::string::npos;
  const Part head = builder_.sequence(
      {space_, markup(syntax_.name_open), pattern(syntax_.id_before), markup(syntax_.name_prefix)});
  Part id{};
  if (!syntax_.id_behind.empty()) {
    id = builder_.sequence({markup(syntax_.name_suffix), pattern(syntax_.id_behind)});
    if (!syntax_.name_is_id) id = builder_.optional(id);
  }
  const Part arguments_follow = builder_.sequence({id, markup(syntax_.name_close), space_});
  const Part rest = each_of(tools, [&](const CallableTool& tool) {
    return builder_.sequence({builder_.literal(tool.name), arguments_follow, json_arguments(tool)});
  });
  return builder_.sequence({head, rest, fenced ? builder_.literal("\n```") : space_});
}

/// Returns the text between the tags of a call, or of a list of calls.
CallWriter::Part CallWriter::call_list(std::span<const CallableTool> tools, bool one) {
  const auto several = [&](Part call, Part between) {
    if (one) return call;
    const Part more = builder_.sequence({between, call});
    return builder_.sequence({call, builder_.repeat(more, 0, GrammarBuilder::kNoBound)});
  };
  const auto in_brackets = [&](Part call) {
    const Part blank = builder_.json().space;
    return builder_.sequence({builder_.literal("["), blank, several(call, builder_.json().comma),
                              blank, builder_.literal("]")});
  };
  switch (syntax_.body) {
    case CallBody::kJson:
      return syntax_.in_list ? in_brackets(json_call(tools)) : json_call(tools);
    case CallBody::kKeyed:
      return in_brackets(keyed_call(tools));
    case CallBody::kNamed:
      return named_call(tools);
    case CallBody::kTagged:
      return syntax_.name_open.empty() ? tagged_call(tools) : several(tagged_call(tools), space_);
    case CallBody::kPairs:
      return pair_call(tools);
    case CallBody::kPython:
      if (syntax_.by_line) return several(python_call(tools), builder_.literal("\n"));
      return in_brackets(python_call(tools));
    case CallBody::kNone:
      break;
  }
  return {};
}

Result<CallWriter::Part> CallWriter::calls(std::span<const CallableTool> tools, bool one) {
  const bool is_list = syntax_.in_list || (syntax_.body == CallBody::kPython && !syntax_.by_line);
  const Part inside = call_list(tools, one);
  if (error_) return *error_;
  // The list's end is clear without its tag, and some models leave the tag out.
  const Part close = markup(syntax_.close);
  const Part call = builder_.sequence(
      {markup(syntax_.open), space_, inside, space_, is_list ? builder_.optional(close) : close});
  // Without tags a parser cannot tell where a second call begins.
  const bool alone = one || is_list || syntax_.by_line || syntax_.open.empty();
  const Part more = builder_.sequence({space_, call});
  const Part all =
      alone ? call : builder_.sequence({call, builder_.repeat(more, 0, GrammarBuilder::kNoBound)});
  if (syntax_.group_open.empty()) return all;
  return builder_.sequence(
      {markup(syntax_.group_open), space_, all, space_, markup(syntax_.group_close)});
}

Result<CallWriter::Part> CallWriter::harmony_call(std::span<const CallableTool> tools) {
  const Part commentary =
      builder_.sequence({markup("<|channel|>"), builder_.literal("commentary")});
  const Part is_json = builder_.optional(
      builder_.sequence({builder_.literal(" "), builder_.optional(markup("<|constrain|>")),
                         builder_.literal("json")}));
  const Part message = builder_.sequence({is_json, markup("<|message|>")});
  const Part to = builder_.literal(" to=functions.");
  const Part call = each_of(tools, [&](const CallableTool& tool) {
    const Part name = builder_.literal(tool.name);
    const Part header = builder_.any_of(
        {builder_.sequence({commentary, to, name}), builder_.sequence({to, name, commentary})});
    return builder_.sequence({header, message, json_arguments(tool)});
  });
  if (error_) return *error_;
  // Where the closing tag is a token that ends outputs, it ends this output.
  return builder_.sequence({call, builder_.optional(markup("<|call|>"))});
}

}  // namespace weft::grammar
