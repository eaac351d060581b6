#include "weft/net/service/service.h"

#include <boost/asio/post.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/defaults.h"
#include "weft/net/http/header_values.h"
#include "weft/net/service/random_id.h"
#include "weft/net/service/routes.h"

namespace weft {

namespace http = boost::beast::http;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

std::int64_t unix_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

ApiError not_found(std::string message) {
  return {.status = 404, .code = "not_found", .message = std::move(message)};
}

ApiError no_such_response() {
  return not_found("there is no response of that id, or it is no longer kept");
}

ApiError unauthorized(bool shown) {
  return {.status = 401,
          .type = "authentication_error",
          .code = "invalid_api_key",
          .message = shown ? "this API key is not valid"
                           : "an API key is needed: Authorization: Bearer KEY"};
}

/// A route of that path with another method: 405, with those that there are.
HttpReply wrong_method(std::string_view path) {
  std::string allowed;
  for (const Route& route : all_routes()) {
    if (!matches(route.path, path)) continue;
    if (!allowed.empty()) allowed += ", ";
    allowed += http::to_string(route.method);
  }
  if (allowed.empty()) return error_reply(not_found("there is no such path"));
  HttpReply reply = error_reply(
      {.status = 405, .code = "method_not_allowed", .message = "this path is for " + allowed});
  reply.headers.emplace_back("Allow", allowed);
  return reply;
}

/// What a browser asks before it sends a script's request elsewhere (CORS).
HttpReply preflight_reply() {
  return {.status = 204,
          .content_type = {},
          .headers = {{"Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"},
                      {"Access-Control-Allow-Headers",
                       "Authorization, Content-Type, X-Api-Key, X-Request-Id, " +
                           std::string(kTimeoutHeader)},
                      {"Access-Control-Max-Age", "600"}}};
}

boost::json::array numbers_of(const std::vector<RequestId>& ids) {
  boost::json::array numbers;
  for (const RequestId id : ids) numbers.push_back(id.value());
  return numbers;
}

/// Up to the last row that is held.
boost::json::array rows_of(const Engine& engine) {
  boost::json::array list;
  const std::vector<RowHolder> rows = engine.rows();
  std::size_t used = rows.size();
  while (used > 0 && !rows[used - 1].request) --used;
  for (std::size_t i = 0; i < used; ++i) {
    if (!rows[i].request) {
      list.push_back(nullptr);
      continue;
    }
    list.push_back(boost::json::object{{"request", rows[i].request.value()},
                                       {"phase", rows[i].decodes ? "decode" : "prefill"}});
  }
  return list;
}

boost::json::object engine_object(const Engine& engine) {
  const EngineStats stats = engine.stats();
  return {{"requests", stats.requests},
          {"rows", stats.rows},
          {"running", stats.running},
          {"waiting", stats.waiting},
          {"pages", stats.pages},
          {"pages_free", stats.pages_free},
          {"ticks", stats.ticks},
          {"prompt_tokens", stats.prompt_tokens},
          {"output_tokens", stats.output_tokens},
          {"preemptions", stats.preemptions},
          {"finished", stats.finished},
          {"first_token_median_seconds", stats.first_token_median}};
}

const Route* find_route(http::verb method, std::string_view path) {
  const http::verb wanted = method == http::verb::head ? http::verb::get : method;
  for (const Route& route : all_routes()) {
    if (route.method == wanted && matches(route.path, path)) return &route;
  }
  return nullptr;
}

}  // namespace

Service::Service(const ServerConfig& config, ApiKeys keys, std::shared_ptr<RequestLog> log,
                 MetricsRegistry& metrics)
    : config_(config),
      keys_(std::move(keys)),
      log_(std::move(log)),
      metrics_(metrics),
      stored_(std::make_shared<ResponseStore>(
          ResponseStore::Bounds{.count = static_cast<std::size_t>(config.max_stored_responses),
                                .bytes = static_cast<std::size_t>(config.max_stored_bytes)})),
      body_memory_(config.max_body_memory, metrics) {}

void Service::stop_workers() noexcept {
  workers_.stop();
  workers_.join();
}

void Service::open(Engine& engine, ModelCard card) {
  card_ = std::move(card);
  engine_.store(&engine);
}

bool Service::is_served(std::string_view model) const noexcept {
  return engine() != nullptr && model == card_.name;
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

std::string Service::presented_key(const http::request_header<>& header) {
  const std::string_view given = header[http::field::authorization];
  if (istarts_with(given, "Bearer ")) return std::string(trimmed(given.substr(7)));
  if (istarts_with(given, "Basic ")) return password_of_basic(trimmed(given.substr(6)));
  if (const std::string_view key = header["x-api-key"]; !key.empty()) return std::string(key);
  // Scripts in a browser cannot set headers of a WebSocket, but its protocols.
  for (const std::string_view protocol : list_items(header[http::field::sec_websocket_protocol])) {
    if (protocol.starts_with(kKeyProtocol)) {
      return std::string(protocol.substr(kKeyProtocol.size()));
    }
  }
  return {};
}

std::variant<Service::Admission, HttpReply> Service::admit(const http::request_header<>& header) {
  Admission admission;
  if (!split_target(header.target(), admission.path, admission.query)) {
    return error_reply({.code = "invalid_target", .message = "the request's target is no path"});
  }
  if (header.method() == http::verb::options) return preflight_reply();
  admission.route = find_route(header.method(), admission.path);
  if (admission.route == nullptr) return wrong_method(admission.path);
  if (keys_.required() && admission.route->guarded) {
    const std::string shown = presented_key(header);
    admission.key = keys_.find(shown);
    if (admission.key == nullptr) {
      HttpReply reply = error_reply(unauthorized(!shown.empty()));
      // So that a browser asks whoever opens the page; the key is the password.
      if (admission.path == "/") reply.headers.back().second = R"(Basic realm="weft")";
      return reply;
    }
  }
  if (admission.route->wants_model) {
    if (const auto reason = not_ready()) return error_reply(*reason);
  }
  return admission;
}

Outcome Service::handle(const Admission& admission, const http::request_header<>& header,
                        std::string_view body, BodyMemory::Share& memory) {
  const HttpCall call{header, admission.path, admission.query, body, memory, admission.key};
  return admission.route->handle(*this, call);
}

ApiContext Service::context(const std::shared_ptr<KeyHolder>& key, milliseconds timeout) const {
  ApiContext context{.card = card_, .id = random_id(), .created = unix_time()};
  if (key != nullptr) {
    context.client = key->name();
    context.class_ceiling = key->limits().class_ceiling;
  }
  context.timeout = timeout;
  context.stored = stored_;
  return context;
}

ApiResult<KeyLease> Service::lease(const std::shared_ptr<KeyHolder>& key) {
  if (key == nullptr) return KeyLease();
  if (auto begun = key->begin(steady_clock::now()); !begun) return std::move(begun).error();
  return KeyLease(key);
}

ApiResult<BegunAnswer> Service::begin(ApiCall call, Asked asked, IoThread& thread,
                                      Answer::Reader& reader) {
  auto leased = lease(asked.key);
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

Outcome Service::generate(const HttpCall& call, Decode decode) const {
  const auto timeout = timeout_of(call.header);
  if (!timeout) return error_reply(timeout.error());
  const ParsedBody body(call.body);
  if (!body.object()) return error_reply(body.object().error());
  auto decoded = decode(*body.object(), context(call.key, *timeout));
  if (!decoded) return error_reply(decoded.error());
  return std::move(*decoded);
}

Outcome Service::work_on_text(const HttpCall& call, TextWork work) {
  if (text_work_.fetch_add(1) >= net_defaults::kTextWork) {
    text_work_.fetch_sub(1);
    return error_reply({.status = 429,
                        .type = "rate_limit_error",
                        .code = "overloaded",
                        .message = "too many texts wait for the tokenizer",
                        .retry_after = milliseconds(1000)});
  }
  struct Waiting {
    std::string text;
    BodyMemory::Share memory;
  };
  auto waiting = std::make_shared<Waiting>(Waiting{std::string(call.body), std::move(call.memory)});
  return LaterReply([this, work, waiting = std::move(waiting)](auto done) mutable {
    boost::asio::post(workers_,
                      [this, work, waiting = std::move(waiting), done = std::move(done)]() mutable {
                        HttpReply reply = reply_or_500([&]() -> HttpReply {
                          const ParsedBody body(waiting->text);
                          if (!body.object()) return error_reply(body.object().error());
                          auto result = work(*body.object(), card_);
                          if (!result) return error_reply(result.error());
                          return {.body = *std::move(result)};
                        });
                        waiting = nullptr;
                        text_work_.fetch_sub(1);
                        done(std::move(reply));
                      });
  });
}

Outcome Service::stored_response(std::string_view id, std::string_view owner) const {
  const auto found = stored_->find(id, owner);
  if (found == nullptr) return error_reply(no_such_response());
  return HttpReply{.body = found->object};
}

Outcome Service::delete_response(std::string_view id, std::string_view owner) {
  if (!stored_->erase(id, owner)) return error_reply(no_such_response());
  return HttpReply{.body = json_text(
                       boost::json::object{{"id", id}, {"object", "response"}, {"deleted", true}})};
}

Outcome Service::cancel_response(std::string_view id, std::string_view owner) {
  return LaterReply([this, id = std::string(id),
                     owner = std::string(owner)](const std::function<void(HttpReply)>& done) {
    const auto reply = [this, id, owner, done] {
      const auto found = stored_->find(id, owner);
      if (found != nullptr) return done({.body = found->object});
      done({.body = json_text(
                boost::json::object{{"id", id}, {"object", "response"}, {"status", "cancelled"}})});
    };
    if (running_.cancel(id, owner, reply)) return;
    // It may have ended a moment ago.
    if (stored_->find(id, owner) != nullptr) return reply();
    done(error_reply(no_such_response()));
  });
}

std::string Service::requests_body(std::string_view owner) const {
  boost::json::array list;
  const auto now = steady_clock::now();
  for (const RunningAnswers::Entry& entry : running_.list()) {
    const std::chrono::duration<double> age = now - entry.began;
    const auto if_own = [own = entry.key == owner](const std::string& id) {
      return own ? boost::json::value(id) : boost::json::value();
    };
    list.push_back(
        boost::json::object{{"id", if_own(entry.object_id)},
                            {"request_id", if_own(entry.request_id)},
                            {"engine_requests", numbers_of(entry.answer->engine_requests())},
                            {"path", entry.path},
                            {"client", entry.key},
                            {"class", entry.request_class},
                            {"seconds", age.count()},
                            {"unread_bytes", entry.answer->unread_bytes()}});
  }
  boost::json::object body{{"requests", std::move(list)}};
  if (const Engine* const engine = engine_.load()) {
    body["engine"] = engine_object(*engine);
    body["rows"] = rows_of(*engine);
  }
  return json_text(body);
}

std::vector<std::pair<std::string, std::string>> Service::headers_for(
    const http::request_header<>& header, std::string_view request_id) const {
  std::vector<std::pair<std::string, std::string>> headers;
  headers.emplace_back("X-Request-Id", request_id);
  const std::string_view origin = header[http::field::origin];
  if (origin.empty() || !is_listed_origin(origin, config_.cors_origins)) return headers;
  const bool any = config_.cors_origins == "*";
  headers.emplace_back("Access-Control-Allow-Origin", any ? "*" : std::string(origin));
  headers.emplace_back("Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
  if (!any) headers.emplace_back("Vary", "Origin");
  return headers;
}

std::string Service::request_id_of(const http::request_header<>& header) {
  const std::string_view given = header["X-Request-Id"];
  return is_request_id(given) ? std::string(given) : "req_" + random_id();
}

}  // namespace weft
