#pragma once

#include <memory>
#include <string_view>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/api_error.h"

namespace weft::c_api {

/// The model as requests name it, which is not asked for.
[[nodiscard]] ModelCard card_of(std::shared_ptr<const ServedModel> model);

/// Reads a request as weft_c.h says: a body of the HTTP service's chat or text completions. The
/// error names the field.
[[nodiscard]] ApiResult<Request> read_request(std::string_view text, const ModelCard& card);

}  // namespace weft::c_api
