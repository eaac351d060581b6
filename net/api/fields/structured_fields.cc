#include "weft/net/api/fields/structured_fields.h"

#include <string>
#include <string_view>
#include <utility>

#include "weft/grammar/defaults.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;
using Kind = StructuredOutput::Kind;

/// Returns whether a schema's text evidently allows objects only.
bool is_of_objects(std::string_view schema) {
  dom::parser parser;
  dom::element type;
  std::string_view name;
  return parser.parse(schema.data(), schema.size()).at_key("type").get(type) == simdjson::SUCCESS &&
         type.get(name) == simdjson::SUCCESS && name == "object";
}

/// Returns whether `wide` evidently allows everything that `narrow` allows.
bool is_within(const StructuredOutput& narrow, const StructuredOutput& wide) {
  if (wide.kind == Kind::kJsonObject && narrow.kind == Kind::kJsonSchema) {
    return is_of_objects(narrow.text);
  }
  return narrow.kind == wide.kind && narrow.text == wide.text && narrow.choices == wide.choices;
}

/// Clients that do not know which of two names a server knows send both. Two names are no mistake
/// where both ask for the same output.
void set_output(BodyFields& fields, std::string_view field, StructuredOutput said,
                Request& request) {
  StructuredOutput& output = request.structured_output;
  if (!output || is_within(said, output)) {
    output = std::move(said);
  } else if (!is_within(output, said)) {
    fields.fail(field, "and " + output.name + " say different things of the output");
  }
}

void set_output(BodyFields& fields, std::string_view field, Kind kind, std::string text,
                Request& request) {
  StructuredOutput said;
  said.kind = kind;
  said.text = std::move(text);
  said.name = fields.path_of(field);
  said.strict = false;  // strict clients set this flag behind the schema
  set_output(fields, field, std::move(said), request);
}

/// Returns a JSON text without meaningless white space; a text that is not JSON stays as it is.
std::string plain_json(std::string_view text) {
  dom::parser parser;
  dom::element root;
  const bool is_json = parser.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS;
  return is_json ? simdjson::minify(root) : std::string(text);
}

/// Takes a schema: an object, true or false; where it `may_be_text` also a text with a schema.
void take_schema(BodyFields& fields, std::string_view name, bool may_be_text, Request& request) {
  const auto schema = fields.any(name);
  if (!schema) return;
  std::string_view text;
  if (may_be_text && schema->get(text) == simdjson::SUCCESS) {
    set_output(fields, name, Kind::kJsonSchema, plain_json(text), request);
  } else if (schema->is_object() || schema->is_bool()) {
    set_output(fields, name, Kind::kJsonSchema, simdjson::minify(*schema), request);
  } else {
    fields.fail(name, "must be an object", api_code::kInvalidType);
  }
}

void take_choices(BodyFields& fields, std::string_view name, Request& request) {
  const auto list = fields.array(name);
  if (!list) return;
  std::vector<std::string> choices;
  for (const dom::element entry : *list) {
    std::string_view text;
    if (entry.get(text) != simdjson::SUCCESS) {
      return fields.fail(indexed(name, choices.size()), "must be a string", api_code::kInvalidType);
    }
    choices.emplace_back(text);
    if (choices.size() > defaults::kMaxChoices) break;  // a later check refuses so many
  }
  StructuredOutput said;
  said.kind = Kind::kChoice;
  said.choices = std::move(choices);
  said.name = fields.path_of(name);
  set_output(fields, name, std::move(said), request);
}

void take_text(BodyFields& fields, std::string_view name, Kind kind, Request& request) {
  const auto text = fields.text(name);
  if (text) set_output(fields, name, kind, std::string(*text), request);
}

void take_json_object(BodyFields& fields, std::string_view name, Request& request) {
  if (fields.flag(name).value_or(false)) {
    set_output(fields, name, Kind::kJsonObject, {}, request);
  }
}

/// Takes the `schema` of `fields`, which must be there, and the fields beside it.
void take_named_schema(BodyFields& fields, Request& request) {
  static_cast<void>(fields.text("name"));
  static_cast<void>(fields.text("description"));
  const bool strict = fields.flag("strict").value_or(false);
  if (!fields.has("schema")) fields.fail("schema", "is missing", api_code::kMissing);
  take_schema(fields, "schema", false, request);
  request.structured_output.strict = strict;
}

void refuse_type(BodyFields& format, std::string_view type) {
  format.fail("type", shown(type) + " is none of text, json_object, json_schema",
              api_code::kUnsupported);
}

}  // namespace

void take_response_format(BodyFields& fields, Request& request) {
  const auto object = fields.object("response_format");
  if (!object) return;
  BodyFields format(*object, fields.path_of("response_format"), fields);
  const std::string_view type = format.needed_text("type");
  if (type == "json_object") {
    take_schema(format, "schema", false, request);
    if (!request.structured_output) {
      set_output(fields, "response_format", Kind::kJsonObject, {}, request);
    }
  } else if (type == "json_schema") {
    const auto schema = format.any("json_schema");
    BodyFields inner(schema ? schema->get_object() : BodyFields::Object(simdjson::NO_SUCH_FIELD),
                     format.path_of("json_schema"), format);
    take_named_schema(inner, request);
    inner.finish();
  } else if (type == "grammar") {
    take_text(format, "grammar", Kind::kText, request);
    if (!format.has("grammar")) format.fail("grammar", "is missing", api_code::kMissing);
  } else if (type == "regex") {
    take_text(format, "pattern", Kind::kRegex, request);
    if (!format.has("pattern")) format.fail("pattern", "is missing", api_code::kMissing);
  } else if (type != "text") {
    refuse_type(format, type);
  }
  format.finish();
}

void take_text_format(BodyFields& text, Request& request) {
  const auto object = text.object("format");
  if (!object) return;
  BodyFields format(*object, text.path_of("format"), text);
  const std::string_view type = format.needed_text("type");
  if (type == "json_object") {
    set_output(text, "format", Kind::kJsonObject, {}, request);
  } else if (type == "json_schema") {
    take_named_schema(format, request);
  } else if (type != "text") {
    refuse_type(format, type);
  }
  format.finish();
}

void take_ollama_format(BodyFields& fields, Request& request) {
  const auto format = fields.any("format");
  if (!format) return;
  std::string_view word;
  if (format->get(word) != simdjson::SUCCESS) return take_schema(fields, "format", false, request);
  if (word == "json") return set_output(fields, "format", Kind::kJsonObject, {}, request);
  if (!word.empty()) fields.fail("format", shown(word) + " is neither json nor a schema");
}

void take_structured_outputs(BodyFields& fields, Request& request) {
  if (const auto object = fields.object("structured_outputs")) {
    BodyFields outputs(*object, fields.path_of("structured_outputs"), fields);
    take_schema(outputs, "json", true, request);
    take_text(outputs, "regex", Kind::kRegex, request);
    take_choices(outputs, "choice", request);
    take_text(outputs, "grammar", Kind::kText, request);
    take_json_object(outputs, "json_object", request);
    outputs.finish();
  }
  take_schema(fields, "guided_json", true, request);
  take_text(fields, "guided_regex", Kind::kRegex, request);
  take_choices(fields, "guided_choice", request);
  take_text(fields, "guided_grammar", Kind::kText, request);
  take_json_object(fields, "guided_json_object", request);
  // SGLang's names, and llama.cpp's.
  take_schema(fields, "json_schema", true, request);
  take_text(fields, "regex", Kind::kRegex, request);
  take_text(fields, "ebnf", Kind::kText, request);
  take_text(fields, "grammar", Kind::kText, request);
  static_cast<void>(fields.text("guided_decoding_backend"));  // there is one
}

}  // namespace weft
