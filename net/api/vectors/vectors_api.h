#pragma once

#include <simdjson.h>

#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/api_error.h"

/// The endpoints that give vectors and scores instead of text. Each decodes a body into a call
/// whose parts are requests for vectors, one for each input. The error names the field: one that is
/// out of range, that Weft cannot do, or that it does not know; or "model", where the model gives
/// no such thing. Bounds: kMaxVectorInputs, kMaxVectorNumbers.
namespace weft {

/// POST /v1/embeddings, as of OpenAI's API: `input` (a text, texts, token ids, or lists of those),
/// `encoding_format` "float" or "base64", `dimensions`; vLLM's `truncate_prompt_tokens` and
/// `normalize`; and what Cohere's, Jina's and Voyage's clients say of an input (input_fields.h).
[[nodiscard]] ApiResult<ApiCall> decode_embeddings(simdjson::dom::object body,
                                                   const ApiContext& context);

/// POST /v1/rerank, /v2/rerank and /rerank, as of Jina's and Cohere's APIs and as vLLM serves them:
/// `query`, `documents` (documents.h), `top_n`, `return_documents`, `max_tokens_per_doc`, ... A
/// document that is too long is cut, unless `truncation` is false. Scores are a cross-encoder's one
/// score, or else the cosine of embeddings.
[[nodiscard]] ApiResult<ApiCall> decode_rerank(simdjson::dom::object body,
                                               const ApiContext& context);

/// POST /v1/score and /score, as of vLLM's API: `text_1` and `text_2`, each a text or texts; one
/// text is paired with each of the other side, and lists of the same length entry by entry.
[[nodiscard]] ApiResult<ApiCall> decode_score(simdjson::dom::object body,
                                              const ApiContext& context);

/// POST /v1/classify and /classify, as of vLLM's API: `input` as of embeddings; `use_activation`
/// false gives scores before softmax or sigmoid.
[[nodiscard]] ApiResult<ApiCall> decode_classify(simdjson::dom::object body,
                                                 const ApiContext& context);

/// POST /v1/fill-mask: `input` (a text or texts, each with the model's mask token) and `top_k`, how
/// many tokens are wanted for each mask token. The entries are those of Hugging Face's task
/// "fill-mask". Bounds: kMaxMaskFills, kMaxFilledBytes.
[[nodiscard]] ApiResult<ApiCall> decode_fill_mask(simdjson::dom::object body,
                                                  const ApiContext& context);

}  // namespace weft
