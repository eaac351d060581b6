#pragma once

#include <simdjson.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "weft/net/service/service.h"

namespace weft {

/// Decodes a body for the loaded model that it names. `decode(body, ApiContext)` returns an
/// ApiResult<ApiCall>; the model's name and context are added to it. Thread-safe.
template <class Decode>
[[nodiscard]] ApiResult<ApiCall> decode_for_model(const Service& service,
                                                  const std::shared_ptr<KeyHolder>& key,
                                                  std::chrono::milliseconds timeout,
                                                  simdjson::dom::object body,
                                                  const Decode& decode) {
  auto card = service.loaded_card_for(body);
  if (!card) return std::move(card).error();
  const std::string model = card->base();
  const std::int64_t positions = card->model->context;
  ApiResult<ApiCall> call = decode(body, service.context(key, timeout, *std::move(card)));
  if (call) {
    call->context = positions;
    for (Request& part : call->parts) part.model = model;
    return call;
  }
  ApiError error = std::move(call).error();
  service.tell_names(error);
  return error;
}

}  // namespace weft
