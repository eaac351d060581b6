#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/c_api/c_call.h"
#include "weft/c_api/c_engine.h"
#include "weft/c_api/c_request.h"
#include "weft/c_api/weft_c.h"

namespace weft::c_api {
namespace {

/// The struct of the header with the memory that it points to.
struct OwnVector : weft_vector {
  explicit OwnVector(EmbedResult result) : weft_vector{}, kept(std::move(result.vector)) {
    numbers = kept.data();
    count = kept.size();
    prompt_tokens = result.usage.prompt_tokens;
  }
  const std::vector<float> kept;
};

Outcome embed(weft_engine& engine, const char* text, const weft_vector** made) {
  auto request =
      read_embed_request(text, [&](std::string_view name) { return card_for(engine, name); });
  if (!request) return refusal_of(request.error());
  std::promise<Completed<EmbedResult>> promise;
  auto done = promise.get_future();
  engine.engine.async_embed(*std::move(request), keeping(std::move(promise)));
  auto [error, result] = done.get();
  if (error) return outcome_of(Error{error, std::move(result.error_detail)});
  *made = std::make_unique<OwnVector>(std::move(result)).release();
  return {};
}

}  // namespace
}  // namespace weft::c_api

weft_status weft_engine_embed(weft_engine* engine, const char* request, const weft_vector** vector,
                              char** error) {
  if (vector != nullptr) *vector = nullptr;
  return weft::c_api::call(engine != nullptr && request != nullptr && vector != nullptr, error,
                           [&] { return weft::c_api::embed(*engine, request, vector); });
}

void weft_vector_free(const weft_vector* vector) {
  delete static_cast<const weft::c_api::OwnVector*>(vector);
}
