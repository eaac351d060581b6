#include "weft/net/routes/routes.h"

#include "weft/net/routes/api_handlers.h"
#include "weft/net/routes/response_handlers.h"
#include "weft/net/routes/status_handlers.h"

namespace weft {

using boost::beast::http::verb;

std::span<const Route> all_routes() noexcept {
  static constexpr Route kRoutes[] = {
      {verb::post, "/v1/chat/completions", true, true, handlers::chat},
      {verb::post, "/v1/completions", true, true, handlers::completion},
      {verb::post, "/v1/responses", true, true, handlers::response},
      {verb::get, "/v1/responses", true, true, handlers::upgrade},
      {verb::get, "/v1/responses/{id}", true, false, handlers::get_response},
      {verb::delete_, "/v1/responses/{id}", true, false, handlers::delete_response},
      {verb::post, "/v1/responses/{id}/cancel", true, false, handlers::cancel_response},
      {verb::get, "/v1/responses/{id}/input_items", true, false, handlers::list_input_items},
      {verb::post, "/v1/responses/input_tokens", true, true, handlers::input_tokens},
      {verb::get, "/v1/models", true, true, handlers::models},
      {verb::get, "/v1/models/{name}", true, true, handlers::model},
      {verb::post, "/tokenize", true, true, handlers::tokenize_text},
      {verb::post, "/detokenize", true, true, handlers::detokenize_tokens},
      {verb::get, "/health", false, false, handlers::health},
      {verb::get, "/live", false, false, handlers::live},
      {verb::get, "/metrics", true, false, handlers::metrics},
      {verb::get, "/version", true, false, handlers::version},
      {verb::get, "/requests", true, false, handlers::requests},
      {verb::get, "/", true, false, handlers::page},
  };
  return kRoutes;
}

}  // namespace weft
