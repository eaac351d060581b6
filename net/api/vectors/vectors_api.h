#pragma once

#include <simdjson.h>

#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/api_error.h"

/// The endpoints that give vectors and scores instead of text. Each decodes a body into a call
/// whose parts are requests for vectors, one for each input. The error names the field: a value out
/// of range, a feature that Weft does not have, or an unknown field. It names "model" where the
/// model gives no such result. Bounds: kMaxVectorInputs, kMaxVectorNumbers.
namespace weft {

/// Decodes POST /v1/embeddings of OpenAI's API: `input` (a text, texts, token ids, or lists of
/// ids), `encoding_format` "float" or "base64", `dimensions`; vLLM's `truncate_prompt_tokens` and
/// `normalize`; and the fields of Cohere's, Jina's and Voyage's clients for inputs
/// (input_fields.h).
[[nodiscard]] ApiResult<ApiCall> decode_embeddings(simdjson::dom::object body,
                                                   const ApiContext& context);

/// Decodes POST /v1/rerank, /v2/rerank and /rerank of Jina's and Cohere's APIs, in vLLM's form:
/// `query`, `documents` (documents.h), `top_n`, `return_documents`, `max_tokens_per_doc`, ... A
/// document that is too long is cut, unless `truncation` is false. Scores come from a
/// cross-encoder, or else are the cosine of embeddings.
[[nodiscard]] ApiResult<ApiCall> decode_rerank(simdjson::dom::object body,
                                               const ApiContext& context);

/// Decodes POST /v1/score and /score of vLLM's API: `text_1` and `text_2`, each a text or texts.
/// One text is paired with each text of the other side; two lists of the same length are paired
/// entry by entry.
[[nodiscard]] ApiResult<ApiCall> decode_score(simdjson::dom::object body,
                                              const ApiContext& context);

/// Decodes POST /v1/classify and /classify of vLLM's API. `input` is as for embeddings; with
/// `use_activation` false, scores are those before softmax or sigmoid.
[[nodiscard]] ApiResult<ApiCall> decode_classify(simdjson::dom::object body,
                                                 const ApiContext& context);

/// Decodes POST /v1/fill-mask: `input` (a text or texts, each with the model's mask token) and
/// `top_k`, the number of tokens for each mask token. The answer's entries have the form of Hugging
/// Face's task "fill-mask". Bounds: kMaxMaskFills, kMaxFilledBytes.
[[nodiscard]] ApiResult<ApiCall> decode_fill_mask(simdjson::dom::object body,
                                                  const ApiContext& context);

}  // namespace weft
