#pragma once

#include "weft/actors/request/request.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// The fields that say what an output must look like. Each leaves mistakes in `fields`. The engine
/// reports mistakes inside a schema or a grammar by the same names, when it prepares the request. A
/// second field that asks for something else is a mistake.

/// Takes `response_format` of chat and text completions: text, json_object (with a `schema` as
/// llama.cpp's clients write it), json_schema.
void take_response_format(BodyFields& fields, Request& request);

/// Takes `format` of the Responses API's `text` and of Messages' `output_config`, which has the
/// schema in itself.
void take_text_format(BodyFields& text, Request& request);

/// Takes Ollama's `format`: "json", or a schema. An empty text asks for nothing.
void take_ollama_format(BodyFields& fields, Request& request);

/// Takes vLLM's `structured_outputs` and its older names, `guided_json`, `guided_regex`,
/// `guided_choice`, `guided_grammar` and `guided_json_object`; SGLang's `json_schema`, `regex` and
/// `ebnf`, and llama.cpp's `grammar`.
void take_structured_outputs(BodyFields& fields, Request& request);

}  // namespace weft
