#pragma once

#include "weft/actors/request/request.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// The fields that constrain an output's form. Each function leaves mistakes in `fields`. The
/// engine reports mistakes inside a schema or a grammar under these names, when it prepares the
/// request. Two fields that ask for different forms are a mistake.

/// Takes `response_format` of chat and text completions: text, json_object (with a `schema` as
/// llama.cpp's clients write it), json_schema.
void take_response_format(BodyFields& fields, Request& request);

/// Takes `format` of the Responses API's `text` and of Messages' `output_config`. The schema is a
/// field of `format`.
void take_text_format(BodyFields& text, Request& request);

/// Takes Ollama's `format`: "json", or a schema. An empty text asks for nothing.
void take_ollama_format(BodyFields& fields, Request& request);

/// Takes vLLM's `structured_outputs` and its older names, `guided_json`, `guided_regex`,
/// `guided_choice`, `guided_grammar` and `guided_json_object`; SGLang's `json_schema`, `regex` and
/// `ebnf`, and llama.cpp's `grammar`.
void take_structured_outputs(BodyFields& fields, Request& request);

}  // namespace weft
