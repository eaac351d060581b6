#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/actors/request/vectors/embed_request.h"
#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/api_error.h"

namespace weft::c_api {

/// Makes the card of a handle's only model, which requests need not name. Null: the handle has
/// several models.
[[nodiscard]] ModelCard card_of(std::shared_ptr<const ServedModel> model);

/// Returns the card of an only model, or of its adapter that a request names. Any other name is
/// left to the reader of the request.
[[nodiscard]] ModelCard card_named(const ModelCard& only, std::string_view name);

/// Finds the model that a request names; "" where it names none.
using FindCard = std::function<ApiResult<ModelCard>(std::string_view name)>;

/// Reads a request as weft_c.h says: a body of the HTTP service's chat or text completions. The
/// error names the field, or comes from `find_card`.
[[nodiscard]] ApiResult<Request> read_request(std::string_view text, const FindCard& find_card);

/// Reads a request for an embedding: a body of the HTTP service's embeddings with one input. The
/// errors are as read_request()'s.
[[nodiscard]] ApiResult<EmbedRequest> read_embed_request(std::string_view text,
                                                         const FindCard& find_card);

}  // namespace weft::c_api
