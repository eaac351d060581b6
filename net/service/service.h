#pragma once

#include <atomic>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/actors/engine/engine.h"
#include "weft/config/server_config.h"
#include "weft/net/api/api_call.h"
#include "weft/net/api/responses/response_store.h"
#include "weft/net/http/http_reply.h"
#include "weft/net/keys/api_keys.h"
#include "weft/net/routes/route.h"
#include "weft/net/routes/router.h"
#include "weft/net/service/address_limits.h"
#include "weft/net/service/answer.h"
#include "weft/net/service/body_memory.h"
#include "weft/net/service/body_workers.h"
#include "weft/net/service/request_log.h"
#include "weft/net/service/running_answers.h"
#include "weft/net/service/slow_readers.h"
#include "weft/net/service/text_worker.h"

namespace weft {

class BackgroundAnswers;
class FineTuning;

/// A begun answer, as its connection holds it.
struct BegunAnswer {
  std::shared_ptr<Answer> answer{};
  KeyLease lease{};
  RunningAnswers::Place place{};
};

/// The server without its sockets: keys and limits, the models, running answers and stored
/// responses. The routes' handlers work with its public functions. All connections share it.
/// Thread-safe.
class Service {
 public:
  Service(const ServerConfig& config, ApiKeys keys, std::shared_ptr<RequestLog> log,
          MetricsRegistry& metrics);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service();

  /// Serves requests from now on, with the engine's only model. `engine` must outlive every
  /// connection.
  void open(Engine& engine, ModelCard card);
  /// Serves requests from now on, with an engine that knows the names of its models
  /// (Engine::models()).
  void open(Engine& engine);
  /// Offers files and jobs from now on, to be called before open(). `tuning` must outlive every
  /// connection and the work of the workers.
  void offer(FineTuning& tuning) noexcept { fine_tuning_.store(&tuning); }
  /// Returns what was offered; null: nothing was.
  [[nodiscard]] FineTuning* fine_tuning() const noexcept { return fine_tuning_.load(); }
  /// Notes that only this machine reaches the server. Where there are no keys either, a client over
  /// TCP must call the server by one of its names (is_own_host). Call it before there are
  /// connections.
  void listen_on_loopback() noexcept { on_loopback_ = true; }
  /// Refuses new requests from now on; running requests go on.
  void drain() noexcept { draining_.store(true); }
  [[nodiscard]] bool draining() const noexcept { return draining_.load(); }
  /// Waits for the running work of the workers. Drops their waiting work without notifying clients.
  void stop_workers() noexcept {
    body_workers_.stop();  // first, because its bodies may go on to the text worker
    text_worker_.stop();
  }
  /// Cancels the background answers. To be called when the I/O threads have stopped.
  void stop_background() noexcept;

  [[nodiscard]] const ServerConfig& config() const noexcept { return config_; }
  [[nodiscard]] RequestLog& log() noexcept { return *log_; }
  [[nodiscard]] RunningAnswers& running() noexcept { return running_; }
  [[nodiscard]] BodyMemory& body_memory() noexcept { return body_memory_; }
  [[nodiscard]] SlowReaders& slow_readers() noexcept { return slow_readers_; }
  [[nodiscard]] BackgroundAnswers& background() noexcept { return *background_; }
  [[nodiscard]] TextWorker& text_worker() noexcept { return text_worker_; }
  [[nodiscard]] BodyWorkers& body_workers() noexcept { return body_workers_; }
  [[nodiscard]] AddressLimits& address_limits() noexcept { return address_limits_; }
  /// Makes a store whose large responses are freed by the body workers. Up to a quarter of `bytes`
  /// may wait to be freed. Nothing may be put into the store once the I/O threads have stopped.
  [[nodiscard]] std::shared_ptr<ResponseStore> make_store(std::int64_t count, std::int64_t bytes);
  [[nodiscard]] ResponseStore& stored_responses() noexcept { return *stored_; }
  /// Returns the served models in their present state; only after open(). Never null.
  [[nodiscard]] std::shared_ptr<const ModelList> models() const;
  /// Returns the model or adapter that the text `field` of a body names, loaded or not; the first
  /// model without such a field. Ollama's clients may add ":latest" to a name. For an unknown name
  /// returns any loaded model, so that decoding refuses the name; 404 where none is loaded.
  [[nodiscard]] ApiResult<ModelCard> card_for(simdjson::dom::object body,
                                              std::string_view field = "model") const;
  /// Returns card_for() where that model is loaded; else 503 with the reason. A model that is
  /// loaded on demand begins to load.
  [[nodiscard]] ApiResult<ModelCard> loaded_card_for(simdjson::dom::object body,
                                                     std::string_view field = "model") const;
  /// Returns loaded_card_for() the model that `model` of a target's query names.
  [[nodiscard]] ApiResult<ModelCard> loaded_card_in(std::string_view query) const;
  /// Adds the names that there are to OpenAI's error for a model's name that is unknown.
  void tell_names(ApiError& error) const;
  /// Returns why the client may not load and unload models and adapters; nothing where it may. It
  /// may with an admin's key. Where there are no keys, it may from this machine, but neither
  /// through a browser nor through a proxy.
  [[nodiscard]] std::optional<ApiError> refuse_admin(const HttpCall& call) const;
  /// Returns the server's metrics, and the engine's once there is one.
  [[nodiscard]] std::string metrics_text() const;

  /// The route of a request whose header is not refused. A header is refused without a look at the
  /// body when there is no such route, or it is not for this client, or a browser asks for a page
  /// of another site, or the server is not ready, or there is no room for a request. `client` is as
  /// in HttpCall.
  struct Admission {
    const Route* route = nullptr;
    std::string path{};
    std::string query{};
    std::shared_ptr<KeyHolder> key{};
  };
  [[nodiscard]] std::variant<Admission, HttpReply> admit(
      const boost::beast::http::request_header<>& header, std::string_view client = {});

  /// Returns the result of the route's handler for the whole request. `admission` belongs to the
  /// same request, `memory` counts its body, `client` is the client's address.
  [[nodiscard]] RouteResult handle(const Admission& admission,
                                   const boost::beast::http::request_header<>& header,
                                   std::string_view body, BodyMemory::Share& memory,
                                   std::string_view client = {});

  /// Makes the context for a request to the model.
  [[nodiscard]] ApiContext context(const std::shared_ptr<KeyHolder>& key,
                                   std::chrono::milliseconds timeout, ModelCard card) const;
  /// Returns the engine; null while the model loads.
  [[nodiscard]] Engine* engine() const noexcept { return engine_.load(); }
  /// The origin of an answer's request, as /requests shows it.
  struct Asked {
    const std::shared_ptr<KeyHolder>& key;
    std::string request_id;
    std::string path;
    std::chrono::steady_clock::time_point began;
  };
  /// Submits the call's requests and lists the answer; 429 when the key may not have another one.
  [[nodiscard]] ApiResult<BegunAnswer> begin(ApiCall call, Asked asked, IoThread& thread,
                                             Answer::Reader& reader);
  /// Charges the key for a body that was decoded in vain (refusal_cost(), with the longest context
  /// of the loaded models). Does nothing where there are no keys.
  void charge_refused(const std::shared_ptr<KeyHolder>& key, std::size_t bytes) const;
  /// Returns the error for a body or a message for which there is no memory.
  [[nodiscard]] static ApiError no_body_memory();
  /// Returns why no request can begin now; nothing when one can.
  [[nodiscard]] std::optional<ApiError> not_ready() const;

  /// Returns the headers that every reply to this request has: X-Request-Id and CORS.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> headers_for(
      const boost::beast::http::request_header<>& header, std::string_view request_id) const;

  /// Returns the id that the client gave, if it is valid (is_request_id()), or a new one.
  [[nodiscard]] static std::string request_id_of(
      const boost::beast::http::request_header<>& header);

 private:
  [[nodiscard]] std::optional<ApiError> refuse_page(
      const boost::beast::http::request_header<>& header, std::string_view client) const;

  const ServerConfig config_;
  const Router router_;
  const HttpReply overloaded_;  // made once, because under overload most replies are this one
  const ApiKeys keys_;
  const std::shared_ptr<RequestLog> log_;
  bool on_loopback_ = false;
  MetricsRegistry& metrics_;
  Counter& dropped_log_lines_;
  // The list for an engine that has one model without a name; constant once engine_ is set.
  std::shared_ptr<const ModelList> list_;
  std::atomic<Engine*> engine_{nullptr};
  std::atomic<FineTuning*> fine_tuning_{nullptr};
  std::atomic<bool> draining_{false};
  const std::shared_ptr<ResponseStore> stored_;
  RunningAnswers running_;
  BodyMemory body_memory_;
  SlowReaders slow_readers_;
  AddressLimits address_limits_;
  const std::unique_ptr<BackgroundAnswers> background_;
  // The last two members, because their work uses the others; body_workers_ also uses text_worker_.
  TextWorker text_worker_;
  BodyWorkers body_workers_;
};

}  // namespace weft
