#include "weft/net/service/service.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/request/request_bounds.h"
#include "weft/core/prometheus.h"
#include "weft/core/text/trimmed.h"
#include "weft/core/time/unix_time.h"
#include "weft/jobs/fine_tuning.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/http/header_values.h"
#include "weft/net/http/host_names.h"
#include "weft/net/http/page_origin.h"
#include "weft/net/routes/routes.h"
#include "weft/net/service/background_answers.h"
#include "weft/net/service/local_caller.h"
#include "weft/net/service/random_id.h"

namespace weft {

namespace http = boost::beast::http;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

ApiError unauthorized(bool shown) {
  return {.status = 401,
          .type = "authentication_error",
          .code = "invalid_api_key",
          .message = shown ? "this API key is not valid"
                           : "an API key is needed: Authorization: Bearer KEY"};
}

/// Headers by which clients describe themselves, also in browsers: OpenAI's and Anthropic's clients
/// (X-Stainless-...), and clients that name their application for OpenRouter. The server ignores
/// them.
constexpr std::string_view kClientHeaders =
    ", User-Agent, X-Title, HTTP-Referer, X-Client-Request-Id, Idempotency-Key"
    ", Anthropic-Version, Anthropic-Beta, Anthropic-Dangerous-Direct-Browser-Access"
    ", OpenAI-Organization, OpenAI-Project, OpenAI-Beta"
    ", X-Stainless-Arch, X-Stainless-Async, X-Stainless-Custom-Poll-Interval, X-Stainless-Helper"
    ", X-Stainless-Helper-Method, X-Stainless-Lang, X-Stainless-OS, X-Stainless-Package-Version"
    ", X-Stainless-Poll-Helper, X-Stainless-Raw-Response, X-Stainless-Read-Timeout"
    ", X-Stainless-Retry-Count, X-Stainless-Runtime, X-Stainless-Runtime-Version"
    ", X-Stainless-Stream-Helper, X-Stainless-Timeout";

/// Returns the reply to a browser's preflight request, which precedes a script's request to another
/// site (CORS).
HttpReply preflight_reply() {
  return {.status = 204,
          .content_type = {},
          .headers = {{"Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"},
                      {"Access-Control-Allow-Headers",
                       "Authorization, Content-Type, X-Api-Key, X-Request-Id, " +
                           std::string(kTimeoutHeader) + std::string(kClientHeaders)},
                      {"Access-Control-Max-Age", "600"}}};
}

/// Returns the key that the client presents, in any of the possible ways; empty when it presents
/// none.
std::string presented_key(const http::request_header<>& header) {
  const std::string_view given = header[http::field::authorization];
  if (istarts_with(given, "Bearer ")) return std::string(trimmed(given.substr(7)));
  if (istarts_with(given, "Basic ")) return password_of_basic(trimmed(given.substr(6)));
  if (const std::string_view key = header["x-api-key"]; !key.empty()) return std::string(key);
  // Scripts in a browser cannot set a WebSocket's headers, only its protocols.
  for (const std::string_view protocol : list_items(header[http::field::sec_websocket_protocol])) {
    if (protocol.starts_with(kKeyProtocol)) {
      return std::string(protocol.substr(kKeyProtocol.size()));
    }
  }
  return {};
}

/// Whether the body has a content encoding, which the server does not decode.
bool is_encoded(const http::request_header<>& header) {
  for (const std::string_view coding : list_items(header[http::field::content_encoding])) {
    if (!boost::beast::iequals(coding, "identity")) return true;
  }
  return header.count(http::field::content_encoding) > 1;
}

/// RFC 9110, section 15.5.16.
HttpReply encoding_reply() {
  HttpReply reply =
      error_reply({.status = 415,
                   .code = "unsupported_content_encoding",
                   .param = "Content-Encoding",
                   .message = "a body is read as it is: compressed ones are not supported"});
  reply.headers.emplace_back("Accept-Encoding", "identity");
  return reply;
}

/// Returns the error that the engine gives when it refuses a request for lack of room.
HttpReply overloaded_reply() {
  return error_reply(api_error_of({EngineErrc::kOverloaded, "too many requests wait"}));
}

constexpr std::string_view kLatestTag = ":latest";

ApiResult<KeyLease> lease_of(const std::shared_ptr<KeyHolder>& key) {
  if (key == nullptr) return KeyLease();
  if (auto begun = key->begin(steady_clock::now()); !begun) return std::move(begun).error();
  return KeyLease(key);
}

}  // namespace

Service::Service(const ServerConfig& config, ApiKeys keys, std::shared_ptr<RequestLog> log,
                 MetricsRegistry& metrics)
    : config_(config),
      router_(all_routes()),
      overloaded_(overloaded_reply()),
      keys_(std::move(keys)),
      log_(std::move(log)),
      metrics_(metrics),
      dropped_log_lines_(metrics.counter("weft_log_dropped_lines_total",
                                         "Lines of the log that were dropped: nobody read it.")),
      stored_(make_store(config.max_stored_responses, config.max_stored_bytes)),
      body_memory_(config.max_body_memory, metrics),
      slow_readers_(metrics),
      address_limits_(config, metrics),
      background_(std::make_unique<BackgroundAnswers>(*this)) {}

Service::~Service() = default;

std::shared_ptr<ResponseStore> Service::make_store(std::int64_t count, std::int64_t bytes) {
  const ResponseStore::Bounds bounds{.count = static_cast<std::size_t>(count),
                                     .bytes = static_cast<std::size_t>(bytes)};
  const auto waiting = std::make_shared<std::atomic<std::size_t>>(0);
  return std::make_shared<ResponseStore>(
      bounds, [this, waiting, most = bounds.bytes / 4](auto response) {
        const std::size_t own = response->bytes;
        try {
          // The store no longer counts these bytes. Beyond the bound this thread frees the
          // response.
          if (waiting->fetch_add(own) + own <= most) {
            return body_workers_.post([waiting, own, response = std::move(response)]() mutable {
              response = nullptr;
              waiting->fetch_sub(own);
            });
          }
        } catch (const std::exception&) {  // no memory for the post: it is freed here
        }
        waiting->fetch_sub(own);
      });
}

void Service::stop_background() noexcept { background_->stop(); }

void Service::open(Engine& engine, ModelCard card) {
  list_ = std::make_shared<const ModelList>(ModelList{.models = {std::move(card)}});
  engine_.store(&engine);
}

void Service::open(Engine& engine) { engine_.store(&engine); }

std::shared_ptr<const ModelList> Service::models() const {
  return list_ != nullptr ? list_ : engine()->models();
}

ApiResult<ModelCard> Service::card_for(simdjson::dom::object body, std::string_view field) const {
  const auto list = models();
  std::string_view name;
  if (body.at_key(field).get(name) != simdjson::SUCCESS) return list->models.front();
  auto found = list->named(name);
  if (!found && name.ends_with(kLatestTag)) {
    found = list->named(name.substr(0, name.size() - kLatestTag.size()));
  }
  if (found) return *std::move(found);
  const auto loaded = std::ranges::find_if(
      list->models, [](const ModelCard& card) { return card.model != nullptr; });
  if (loaded != list->models.end()) return *loaded;
  return api_error_of({EngineErrc::kNoSuchModel, "model: " + shown(name)});
}

ApiResult<ModelCard> Service::loaded_card_for(simdjson::dom::object body,
                                              std::string_view field) const {
  auto card = card_for(body, field);
  if (!card || card->model) return card;
  EngineErrc why = EngineErrc::kModelNotLoaded;
  if (card->state == ModelState::kLoading) why = EngineErrc::kModelLoading;
  if (card->state == ModelState::kUnloading) why = EngineErrc::kModelUnloading;
  if (card->state == ModelState::kFailed) why = EngineErrc::kModelFailed;
  if (card->state == ModelState::kUnloaded && models()->loads_on_demand) {
    why = EngineErrc::kModelLoading;
    engine()->async_load(card->base(), [](boost::system::error_code, const std::string&) {});
  }
  return api_error_of({why, {}});
}

ApiResult<ModelCard> Service::loaded_card_in(std::string_view query) const {
  boost::json::object named;
  if (const std::string name = query_value(query, "model"); !name.empty()) named["model"] = name;
  const ParsedBody body(json_text(named));
  if (!body.object()) return body.object().error();
  return loaded_card_for(*body.object());
}

void Service::tell_names(ApiError& error) const {
  // Other APIs' errors have words of their own, which clients look for.
  if (error.code != api_code::kModelNotFound || !error.message.starts_with("model: ")) return;
  constexpr std::size_t kMost = 20;  // more would not be read
  std::size_t shown_names = 0;
  for (const ModelCard& card : models()->with_adapters()) {
    if (shown_names == kMost) {
      error.message += ", ...";
      break;
    }
    error.message.append(shown_names++ == 0 ? "; there are " : ", ").append(card.name);
  }
}

std::optional<ApiError> Service::refuse_admin(const HttpCall& call) const {
  ApiError error{.status = 403, .type = "permission_error", .code = "not_an_admin"};
  if (keys_.required()) {
    if (call.key != nullptr && call.key->limits().admin) return std::nullopt;
    error.message = "this key may not change models and adapters: that wants one with admin = true";
    return error;
  }
  if (is_local_caller(call.header, call.client)) return std::nullopt;
  error.message =
      "without keys models and adapters are changed from the server's machine alone, as localhost, "
      "and neither by a browser nor through a proxy";
  return error;
}

ApiError Service::no_body_memory() {
  return {.status = 429,
          .type = "rate_limit_error",
          .code = "overloaded",
          .message = "too many large requests arrive at once",
          .retry_after = milliseconds(1000)};
}

std::optional<ApiError> Service::not_ready() const {
  ApiError error{.status = 503, .type = "server_error", .retry_after = milliseconds(5000)};
  const Engine* const engine = engine_.load();
  if (draining()) {
    error.code = "shutting_down";
    error.message = "the server is shutting down";
  } else if (engine == nullptr) {
    error.code = "loading";
    error.message = "the model is being loaded";
  } else if (!engine->ready()) {
    error.code = "not_ready";
    error.message = "the engine has failed";
  } else {
    return std::nullopt;
  }
  return error;
}

std::optional<ApiError> Service::refuse_page(const http::request_header<>& header,
                                             std::string_view client) const {
  ApiError error{.status = 403};
  if (is_for_foreign_page(header, config_.cors_origins)) {
    error.code = "origin_not_allowed";
    error.message = "pages of this origin may not ask here: see server.cors_origins";
    return error;
  }
  // Only HTTP/1.0 has no host. No browser uses a Unix socket, and no browser shows a key to another
  // site.
  const std::string_view host = header[http::field::host];
  const bool by_tcp = !client.empty() && client != kUnixClient;
  if (!on_loopback_ || keys_.required() || !by_tcp || host.empty()) return std::nullopt;
  if (is_own_host(host, config_.host_names) ||
      boost::beast::iequals(name_in_host(host), config_.host)) {
    return std::nullopt;
  }
  error.code = "host_not_allowed";
  error.message = "the server is not called " + shown(host) + ": see server.host_names";
  return error;
}

std::variant<Service::Admission, HttpReply> Service::admit(const http::request_header<>& header,
                                                           std::string_view client) {
  Admission admission;
  if (!split_target(header.target(), admission.path, admission.query)) {
    return error_reply({.code = "invalid_target", .message = "the request's target is no path"});
  }
  if (header.method() == http::verb::options) return preflight_reply();
  auto found = router_.find(header.method(), admission.path);
  if (auto* refusal = std::get_if<HttpReply>(&found)) return std::move(*refusal);
  admission.route = std::get<const Route*>(found);
  if (admission.route->guarded) {
    if (const auto refusal = refuse_page(header, client)) return error_reply(*refusal);
  }
  if (keys_.required() && admission.route->guarded) {
    const std::string shown = presented_key(header);
    admission.key = keys_.find(shown);
    if (admission.key == nullptr) {
      HttpReply reply = error_reply(unauthorized(!shown.empty()));
      // The header makes a browser ask the page's user for a password, which is the key.
      if (admission.path == "/") reply.headers.back().second = R"(Basic realm="weft")";
      return reply;
    }
  }
  if (admission.route->need != RouteNeed::kNothing) {
    if (const auto reason = not_ready()) return error_reply(*reason);
  }
  if (is_encoded(header)) return encoding_reply();
  if (admission.route->need != RouteNeed::kRoom) return admission;
  if (engine()->full()) return overloaded_;
  if (admission.key != nullptr) {
    if (const auto may = admission.key->check(steady_clock::now()); !may) {
      return error_reply(may.error());
    }
  }
  return admission;
}

RouteResult Service::handle(const Admission& admission, const http::request_header<>& header,
                            std::string_view body, BodyMemory::Share& memory,
                            std::string_view client) {
  const Route& route = *admission.route;
  const HttpCall call{header,          admission.path, id_in(route.path, admission.path),
                      admission.query, body,           client,
                      memory,          admission.key};
  return route.handle(*this, call);
}

ApiContext Service::context(const std::shared_ptr<KeyHolder>& key, milliseconds timeout,
                            ModelCard card) const {
  ApiContext context{.card = std::move(card), .id = random_id(), .created = unix_time()};
  if (key != nullptr) {
    context.client = key->name();
    context.class_ceiling = key->limits().class_ceiling;
  }
  context.timeout = timeout;
  context.stored = stored_;
  return context;
}

ApiResult<BegunAnswer> Service::begin(ApiCall call, Asked asked, IoThread& thread,
                                      Answer::Reader& reader) {
  auto leased = lease_of(asked.key);
  if (!leased) return std::move(leased).error();
  BegunAnswer begun{.lease = *std::move(leased)};
  std::string id = call.object_id;
  const auto cls = call.parts.empty() ? RequestClass::kChat : call.parts.front().request_class;
  begun.answer = std::make_shared<Answer>(thread, std::move(call), asked.key);
  begun.answer->start(*engine(), reader);
  begun.place = running_.add({.object_id = std::move(id),
                              .request_id = std::move(asked.request_id),
                              .path = std::move(asked.path),
                              .key = std::string(owner_of(asked.key)),
                              .request_class = std::string(to_string(cls)),
                              .began = asked.began,
                              .answer = begun.answer});
  return begun;
}

void Service::charge_refused(const std::shared_ptr<KeyHolder>& key, std::size_t bytes) const {
  if (key == nullptr || engine() == nullptr) return;
  std::int64_t longest = 0;
  const auto list = models();
  for (const ModelCard& card : list->models) {
    if (card.model != nullptr) longest = std::max(longest, card.model->context);
  }
  key->charge(refusal_cost(tokens_of_bytes(static_cast<std::int64_t>(bytes)), longest),
              steady_clock::now());
}

std::string Service::metrics_text() const {
  dropped_log_lines_.add(log_->take_dropped());
  if (FineTuning* const tuning = fine_tuning()) tuning->refresh_metrics();
  std::string text = prometheus_text(metrics_);
  if (const Engine* const running = engine()) text += running->metrics_text();
  return text;
}

std::vector<std::pair<std::string, std::string>> Service::headers_for(
    const http::request_header<>& header, std::string_view request_id) const {
  std::vector<std::pair<std::string, std::string>> headers;
  headers.emplace_back("X-Request-Id", request_id);
  const std::string_view origin = header[http::field::origin];
  if (origin.empty() || !is_listed_origin(origin, config_.cors_origins)) return headers;
  const bool any = config_.cors_origins == "*";
  headers.emplace_back("Access-Control-Allow-Origin", any ? "*" : std::string(origin));
  headers.emplace_back("Access-Control-Expose-Headers", "X-Request-Id, Retry-After, Weft-Warning");
  if (!any) headers.emplace_back("Vary", "Origin");
  return headers;
}

std::string Service::request_id_of(const http::request_header<>& header) {
  const std::string_view given = header["X-Request-Id"];
  return is_request_id(given) ? std::string(given) : "req_" + random_id();
}

}  // namespace weft
