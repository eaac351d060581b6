#include "weft/net/service/routes.h"

#include <boost/json/object.hpp>

#include "weft/core/prometheus.h"
#include "weft/net/api/chat/chat_api.h"
#include "weft/net/api/completions/completion_api.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/responses/response_api.h"
#include "weft/net/api/text_api.h"
#include "weft/net/http/websocket_handshake.h"
#include "weft/net/page/web_page.h"

namespace weft {

using boost::beast::http::verb;

namespace {

constexpr std::string_view kResponse = "/v1/responses/{id}";
constexpr std::string_view kCancelResponse = "/v1/responses/{id}/cancel";
constexpr std::string_view kModel = "/v1/models/{id}";

ApiResult<ApiCall> decode_posted_response(simdjson::dom::object body, const ApiContext& context) {
  return decode_response(body, context);
}

}  // namespace

/// What the routes do, as functions that the table can name.
struct Routes {
  static Outcome chat(Service& service, const HttpCall& call) {
    return service.generate(call, decode_chat);
  }
  static Outcome completion(Service& service, const HttpCall& call) {
    return service.generate(call, decode_completion);
  }
  static Outcome response(Service& service, const HttpCall& call) {
    return service.generate(call, decode_posted_response);
  }
  static Outcome upgrade(Service& service, const HttpCall& call) {
    auto refusal = refuse_handshake(call.header, service.config().cors_origins);
    if (refusal) return *std::move(refusal);
    return Upgrade{};
  }
  static Outcome get_response(Service& service, const HttpCall& call) {
    return service.stored_response(id_in(kResponse, call.path), owner_of(call.key));
  }
  static Outcome delete_response(Service& service, const HttpCall& call) {
    return service.delete_response(id_in(kResponse, call.path), owner_of(call.key));
  }
  static Outcome cancel_response(Service& service, const HttpCall& call) {
    return service.cancel_response(id_in(kCancelResponse, call.path), owner_of(call.key));
  }
  static Outcome models(Service& service, const HttpCall& /*call*/) {
    return HttpReply{.body = models_body(service.card_)};
  }
  static Outcome model(Service& service, const HttpCall& call) {
    const std::string_view name = id_in(kModel, call.path);
    if (service.is_served(name)) return HttpReply{.body = model_body(service.card_)};
    return error_reply({.status = 404,
                        .code = "model_not_found",
                        .param = "model",
                        .message = "this server has no model of that name; /v1/models lists them"});
  }
  static Outcome tokenize_text(Service& service, const HttpCall& call) {
    return service.work_on_text(call, tokenize);
  }
  static Outcome detokenize_tokens(Service& service, const HttpCall& call) {
    return service.work_on_text(call, detokenize);
  }
  static Outcome health(Service& service, const HttpCall& /*call*/) {
    if (const auto reason = service.not_ready()) return error_reply(*reason);
    return HttpReply{.body = R"({"status":"ok"})"};
  }
  static Outcome live(Service& /*service*/, const HttpCall& /*call*/) {
    return HttpReply{.body = R"({"status":"ok"})"};
  }
  static Outcome metrics(Service& service, const HttpCall& /*call*/) {
    std::string text = prometheus_text(service.metrics_);
    if (const Engine* engine = service.engine()) text += engine->metrics_text();
    return HttpReply{.content_type = std::string(kPrometheusContentType), .body = std::move(text)};
  }
  static Outcome version(Service& /*service*/, const HttpCall& /*call*/) {
    return HttpReply{.body = json_text(boost::json::object{{"version", WEFT_VERSION}})};
  }
  static Outcome requests(Service& service, const HttpCall& call) {
    return HttpReply{.body = service.requests_body(owner_of(call.key))};
  }
  static Outcome page(Service& service, const HttpCall& /*call*/) {
    if (!service.config().web_page) {
      return error_reply({.status = 404, .code = "not_found", .message = "there is no page here"});
    }
    return HttpReply{.content_type = "text/html; charset=utf-8",
                     .body = std::string(web_page()),
                     .headers = {{"Content-Security-Policy", std::string(kWebPagePolicy)},
                                 {"Cache-Control", "no-cache"},
                                 {"X-Content-Type-Options", "nosniff"}}};
  }
};

std::span<const Route> all_routes() noexcept {
  static constexpr Route kRoutes[] = {
      {verb::post, "/v1/chat/completions", true, true, Routes::chat},
      {verb::post, "/v1/completions", true, true, Routes::completion},
      {verb::post, "/v1/responses", true, true, Routes::response},
      {verb::get, "/v1/responses", true, true, Routes::upgrade},
      {verb::get, kResponse, true, false, Routes::get_response},
      {verb::delete_, kResponse, true, false, Routes::delete_response},
      {verb::post, kCancelResponse, true, false, Routes::cancel_response},
      {verb::get, "/v1/models", true, true, Routes::models},
      {verb::get, kModel, true, true, Routes::model},
      {verb::post, "/tokenize", true, true, Routes::tokenize_text},
      {verb::post, "/detokenize", true, true, Routes::detokenize_tokens},
      {verb::get, "/health", false, false, Routes::health},
      {verb::get, "/live", false, false, Routes::live},
      {verb::get, "/metrics", true, false, Routes::metrics},
      {verb::get, "/version", true, false, Routes::version},
      {verb::get, "/requests", true, false, Routes::requests},
      {verb::get, "/", true, false, Routes::page},
  };
  return kRoutes;
}

bool matches(std::string_view pattern, std::string_view path) noexcept {
  const auto hole = pattern.find("{id}");
  if (hole == std::string_view::npos) return pattern == path;
  return !id_in(pattern, path).empty();
}

std::string_view id_in(std::string_view pattern, std::string_view path) noexcept {
  const auto hole = pattern.find("{id}");
  const std::string_view before = pattern.substr(0, hole);
  const std::string_view after = pattern.substr(hole + 4);
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) ||
      !path.ends_with(after)) {
    return {};
  }
  return path.substr(before.size(), path.size() - before.size() - after.size());
}

}  // namespace weft
