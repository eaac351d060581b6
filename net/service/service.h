#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/verb.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/actors/engine/engine.h"
#include "weft/config/server_config.h"
#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/api/responses/response_store.h"
#include "weft/net/http/http_reply.h"
#include "weft/net/keys/api_keys.h"
#include "weft/net/service/answer.h"
#include "weft/net/service/body_memory.h"
#include "weft/net/service/request_log.h"
#include "weft/net/service/running_answers.h"

namespace weft {

struct Route;

/// A request as a route sees it. Borrowed for the call.
struct HttpCall {
  const boost::beast::http::request_header<>& header;
  std::string_view path;   ///< of the target, decoded
  std::string_view query;  ///< what stands behind "?"
  std::string_view body;
  BodyMemory::Share& memory;              ///< what counts the body; who keeps a copy takes it
  const std::shared_ptr<KeyHolder>& key;  ///< null where there are no keys
};

/// An answer that is made elsewhere: the function is called once, at once, with what to call (on
/// any thread, once) when the reply is there.
using LaterReply = std::function<void(std::function<void(HttpReply)>)>;
/// The connection becomes a WebSocket.
struct Upgrade {};
using Outcome = std::variant<HttpReply, ApiCall, LaterReply, Upgrade>;

/// An answer that has begun, as its connection keeps it.
struct BegunAnswer {
  std::shared_ptr<Answer> answer{};
  KeyLease lease{};
  RunningAnswers::Place place{};
};

/// What the server does, without its sockets: routes, keys, the model, what is kept. Shared by all
/// connections. Thread-safe.
class Service {
 public:
  Service(const ServerConfig& config, ApiKeys keys, std::shared_ptr<RequestLog> log,
          MetricsRegistry& metrics);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service() { stop_workers(); }

  /// From now on requests are served. `engine` outlives every connection.
  void open(Engine& engine, ModelCard card);
  /// From now on they are refused, but for what has begun.
  void drain() noexcept { draining_.store(true); }
  [[nodiscard]] bool draining() const noexcept { return draining_.load(); }
  /// Waits for what the workers have begun; what waits for them is dropped, and nobody is told.
  void stop_workers() noexcept;

  [[nodiscard]] const ServerConfig& config() const noexcept { return config_; }
  [[nodiscard]] RequestLog& log() noexcept { return *log_; }
  [[nodiscard]] RunningAnswers& running() noexcept { return running_; }
  [[nodiscard]] BodyMemory& body_memory() noexcept { return body_memory_; }

  /// What the header alone decides: is there such a route, may this client use it, is the server
  /// ready. Before any of the body is read.
  struct Admission {
    const Route* route = nullptr;
    std::string path{};
    std::string query{};
    std::shared_ptr<KeyHolder> key{};
  };
  [[nodiscard]] std::variant<Admission, HttpReply> admit(
      const boost::beast::http::request_header<>& header);

  /// The rest. `admission` is that of the same request, `memory` counts its body.
  [[nodiscard]] Outcome handle(const Admission& admission,
                               const boost::beast::http::request_header<>& header,
                               std::string_view body, BodyMemory::Share& memory);

  /// For a WebSocket's messages.
  [[nodiscard]] ApiContext context(const std::shared_ptr<KeyHolder>& key,
                                   std::chrono::milliseconds timeout) const;
  [[nodiscard]] bool is_served(std::string_view model) const noexcept;
  /// Null while the model loads.
  [[nodiscard]] Engine* engine() const noexcept { return engine_.load(); }
  /// Who asked for an answer, and how: what /requests says of it.
  struct Asked {
    const std::shared_ptr<KeyHolder>& key;
    std::string request_id;
    std::string path;
    std::chrono::steady_clock::time_point began;
  };
  /// Submits the call's requests and lists the answer; 429 when the key may not have one more.
  [[nodiscard]] ApiResult<BegunAnswer> begin(ApiCall call, Asked asked, IoThread& thread,
                                             Answer::Reader& reader);
  /// There is no room for a body or a message.
  [[nodiscard]] static ApiError no_body_memory();
  /// Why nothing can begin now, if so.
  [[nodiscard]] std::optional<ApiError> not_ready() const;

  /// Those that every reply to this request has: X-Request-Id and CORS.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> headers_for(
      const boost::beast::http::request_header<>& header, std::string_view request_id) const;

  /// What the client said, if it is fit to be repeated, or a new one.
  [[nodiscard]] static std::string request_id_of(
      const boost::beast::http::request_header<>& header);

 private:
  friend struct Routes;
  [[nodiscard]] static ApiResult<KeyLease> lease(const std::shared_ptr<KeyHolder>& key);
  using Decode = ApiResult<ApiCall> (*)(simdjson::dom::object, const ApiContext&);
  using TextWork = ApiResult<std::string> (*)(simdjson::dom::object, const ModelCard&);

  [[nodiscard]] Outcome generate(const HttpCall& call, Decode decode) const;
  [[nodiscard]] Outcome work_on_text(const HttpCall& call, TextWork work);
  [[nodiscard]] Outcome stored_response(std::string_view id, std::string_view owner) const;
  [[nodiscard]] Outcome delete_response(std::string_view id, std::string_view owner);
  [[nodiscard]] Outcome cancel_response(std::string_view id, std::string_view owner);
  /// Of all, but the ids of one's own alone.
  [[nodiscard]] std::string requests_body(std::string_view owner) const;
  /// The key that the client shows, in one of the ways there are; empty = none.
  [[nodiscard]] static std::string presented_key(
      const boost::beast::http::request_header<>& header);

  const ServerConfig config_;
  const ApiKeys keys_;
  const std::shared_ptr<RequestLog> log_;
  MetricsRegistry& metrics_;
  ModelCard card_;  // constant once engine_ is set
  std::atomic<Engine*> engine_{nullptr};
  std::atomic<bool> draining_{false};
  const std::shared_ptr<ResponseStore> stored_;
  RunningAnswers running_;
  BodyMemory body_memory_;
  std::atomic<int> text_work_{0};
  boost::asio::thread_pool workers_{1};  // for what takes long, such as tokenizing a text
};

}  // namespace weft
