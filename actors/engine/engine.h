#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/adapters/adapter_info.h"
#include "weft/actors/engine/engine_core.h"
#include "weft/actors/engine/model_operation.h"
#include "weft/actors/engine/token_stream.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/request/active_request.h"
#include "weft/actors/request/generation_result.h"
#include "weft/actors/request/request.h"
#include "weft/actors/request/request_port.h"
#include "weft/actors/request/vectors/embed_request.h"
#include "weft/actors/training/training_task.h"
#include "weft/config/config.h"
#include "weft/config/models_config.h"
#include "weft/core/error/error.h"
#include "weft/core/metrics.h"

namespace weft {

struct ModelHostOptions;
struct ModelList;
struct PipelineOptions;

/// A request that was submitted with the caller's own sink. It does not keep the request alive.
/// Thread-safe except for assignment.
class RequestHandle {
 public:
  RequestHandle() noexcept = default;
  /// `request` is null when it was refused.
  explicit RequestHandle(const std::shared_ptr<ActiveRequest>& request) noexcept
      : id_(request ? request->id() : RequestId()), request_(request) {}

  /// The id that Engine::rows() uses; none if the request was refused at once.
  [[nodiscard]] RequestId id() const noexcept { return id_; }

  /// Asks the request to end; does nothing if it has ended. The first cause counts, and the sink is
  /// told of the end.
  void ask_to_end(EndCause cause) noexcept {
    if (const auto request = request_.lock()) request->ask_to_end(cause);
  }

 private:
  RequestId id_;
  std::weak_ptr<ActiveRequest> request_;
};

/// A language model inside an Asio application. It takes an executor, a Config and nothing else
/// from the process: no globals, no signal handlers, no printing. docs/asio-compliance.md states
/// how its operations behave, point by point.
///
/// Thread-safe except for construction, moves and destruction; any number of engines may live in
/// one process, and handlers may belong to any number of contexts. An engine that was moved from
/// can only be assigned and destroyed. The context of `executor` must outlive the engine, and the
/// contexts of its handlers must outlive their operations.
///
/// Every operation takes any completion token. It completes on the handler's associated executor
/// (without one: the engine's) and never within the initiating call. It allocates with the
/// handler's associated allocator and honours the associated cancellation slot.
class Engine {
 public:
  using executor_type = boost::asio::any_io_executor;

  /// Loads the model, and blocks meanwhile. Throws boost::system::system_error with what create()
  /// returns.
  Engine(boost::asio::any_io_executor executor, const Config& config);
  /// Loads the model without throwing. Errors are those of Config::validate(), of the model's files
  /// and of the device; kInternal, when memory or threads are not available.
  [[nodiscard]] static Result<Engine> create(boost::asio::any_io_executor executor,
                                             const Config& config);
  /// Makes an engine over a pipeline with an application's own options, such as a filter. Blocks;
  /// async_load_engine (load_engine.h) does not.
  [[nodiscard]] static Result<Engine> create(boost::asio::any_io_executor executor,
                                             const Config& config, const PipelineOptions& options);
  /// Makes an engine of one model or several, each with its own pipeline; Request::model chooses
  /// one. Loads the models that are configured to load at the start, and blocks meanwhile. A model
  /// that fails to load does not fail the engine (models() says why) as long as another model
  /// loads. Errors are those of ModelsConfig::validate() or, if all models fail, the first model's.
  [[nodiscard]] static Result<Engine> create(boost::asio::any_io_executor executor,
                                             const ModelsConfig& config);
  [[nodiscard]] static Result<Engine> create(boost::asio::any_io_executor executor,
                                             const ModelsConfig& config,
                                             const ModelHostOptions& options);
  /// Makes an engine over a pipeline of the caller's own, which must not be null.
  Engine(boost::asio::any_io_executor executor, std::unique_ptr<RequestPort> port);

  Engine(Engine&&) noexcept = default;
  Engine& operator=(Engine&& other) noexcept;
  /// Ends everything before it returns, and needs no running executor: requests end with kStopping,
  /// and actors exit. Completions are posted, and run if their contexts run later. It must not be
  /// called from within an actor, a sink or a hook.
  ~Engine();

  /// The engine's executor, on which handlers without an associated executor run.
  [[nodiscard]] executor_type get_executor() const { return core_->executor(); }

  /// The engine's (first) model as the engine knows it: tokenizer, chat template, context,
  /// vocabulary, end tokens. Shared, so it may outlive the engine. Null over a port without a
  /// model, and while the first model is not loaded.
  [[nodiscard]] std::shared_ptr<const ServedModel> model() const { return core_->port().model(); }

  /// The present state of the models of an engine made of a ModelsConfig (model_list.h); null for
  /// other engines. Thread-safe.
  [[nodiscard]] std::shared_ptr<const ModelList> models() const { return core_->port().models(); }

  /// Loads one of the models. Signature void(error_code, std::string detail). Completes when the
  /// model takes requests, at once if it already does. Errors:
  /// - kNoSuchModel; kModelUnloading: it is being unloaded, and can be loaded afterwards;
  /// - kOverloaded: the most models are loaded and none is idle, or too many operations wait for
  /// this model;
  /// - kStopping; errors of the model's files and of the device, which models() shows afterwards.
  /// Models are loaded one at a time, in the order of the calls; others serve meanwhile.
  /// Cancellation of any type ends the wait with operation_aborted, but the model is still
  /// loaded.
  template <boost::asio::completion_token_for<void(boost::system::error_code, std::string)> Token>
  auto async_load(std::string model, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::string)>(
        Initiate<LoadOp>{core_}, token, std::move(model));
  }

  /// Unloads one of the models. It takes no more requests from now on (kModelUnloading); its
  /// present requests run to their end; then its memory is freed and the operation completes. For a
  /// model that is not loaded it only clears the failure. Signature and cancellation as for
  /// async_load. Errors: kNoSuchModel; kModelLoading: it is being loaded; kOverloaded: too many
  /// operations wait for it; kStopping.
  template <boost::asio::completion_token_for<void(boost::system::error_code, std::string)> Token>
  auto async_unload(std::string model, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::string)>(
        Initiate<UnloadOp>{core_}, token, std::move(model));
  }

  /// Gives a name the adapter of a path, for requests that name it from now on (Request::adapter);
  /// requests under way keep what they have. Signature void(error_code, std::string detail).
  /// Completes when the adapter is in host memory. Errors, which change nothing:
  /// - kNoSuchModel; kModelNotLoaded and the like for a model that is not loaded; kNoSuchAdapter
  ///   for a model that takes no adapters (Config::adapter_places);
  /// - kBadRequest: the name, or a path that the configuration does not allow; kAdapterLoaded: the
  ///   name has an adapter, and AdapterChange::replaces is false; kAdapterFailed: it cannot be
  ///   read, or does not fit the model;
  /// - kOverloaded; kStopping.
  /// A model's adapters are loaded one at a time, in the order of the calls. Cancellation of any
  /// type ends the wait with operation_aborted, but the adapter is still loaded.
  template <boost::asio::completion_token_for<void(boost::system::error_code, std::string)> Token>
  auto async_load_adapter(AdapterChange adapter, Token&& token) {
    adapter.unloads = false;
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::string)>(
        Initiate<AdapterOp>{core_}, token, std::move(adapter));
  }
  /// Loads the adapter of a path for the first model, under a name that has none.
  template <boost::asio::completion_token_for<void(boost::system::error_code, std::string)> Token>
  auto async_load_adapter(std::string name, std::string path, Token&& token) {
    return async_load_adapter(AdapterChange(std::move(name), std::move(path)),
                              std::forward<Token>(token));
  }

  /// Removes an adapter's name of a model ("": the first); requests under way keep the adapter.
  /// Signature, cancellation and errors as for async_load_adapter; kNoSuchAdapter for a name that
  /// has none.
  template <boost::asio::completion_token_for<void(boost::system::error_code, std::string)> Token>
  auto async_unload_adapter(std::string name, std::string model, Token&& token) {
    AdapterChange adapter(std::move(name));
    adapter.model = std::move(model);
    return async_unload_adapter(std::move(adapter), std::forward<Token>(token));
  }
  /// Removes AdapterChange::name likewise, and its files with AdapterChange::erases_files.
  /// kBadRequest: its files may not be removed; then the name stays.
  template <boost::asio::completion_token_for<void(boost::system::error_code, std::string)> Token>
  auto async_unload_adapter(AdapterChange adapter, Token&& token) {
    adapter.unloads = true;
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::string)>(
        Initiate<AdapterOp>{core_}, token, std::move(adapter));
  }
  template <boost::asio::completion_token_for<void(boost::system::error_code, std::string)> Token>
  auto async_unload_adapter(std::string name, Token&& token) {
    return async_unload_adapter(std::move(name), std::string(), std::forward<Token>(token));
  }

  /// Trains the task's work while the engine serves, as Config::training says. Signature
  /// void(error_code, std::string detail). Completes when the work is done or has failed, with its
  /// error. One task runs at a time, on the first replica. Further errors:
  /// - kBadRequest, before the work is used: the task has begun before; the policy is kOff; the
  ///   model is on a GPU, is cut, or is one of several of the engine;
  /// - kOverloaded: another task has not ended; kCancelled: TrainingTask::cancel();
  /// - kModelNotLoaded and the like, where the engine knows its model by name and has not loaded
  ///   it; unloading the model ends the task with kStopping;
  /// - kNotReady; kStopping. async_drain does not wait for training, async_shutdown ends it.
  /// Cancellation of any type ends the wait with operation_aborted, and the task goes on.
  template <boost::asio::completion_token_for<void(boost::system::error_code, std::string)> Token>
  auto async_train(TrainingTask task, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::string)>(
        Initiate<TrainOp>{core_}, token, std::move(task));
  }

  /// Returns the error with which async_train would refuse every task now, but for kOverloaded: the
  /// engine cannot train, or its model is not loaded. Thread-safe; does not wait.
  [[nodiscard]] Result<void> can_train() const { return core_->port().can_train(); }

  /// The adapters that requests of a model ("": the first) can name now, but for those of
  /// Config::adapters_folder that none has named yet. Thread-safe.
  [[nodiscard]] std::vector<AdapterInfo> adapters(std::string_view model = {}) const;

  /// Runs a request to its end. Signature void(error_code, GenerationResult). Also with an error
  /// the result has the output so far, and error_detail says more than the code.
  ///
  /// Errors: how the request failed or why it was refused (EngineErrc: kOverloaded, kBadRequest,
  /// kStopping, ...; SamplingErrc, TextErrc). Cancellation of any type (terminal, partial, total)
  /// cancels the request; the operation completes with operation_aborted once it has ended. If the
  /// request was cancelled otherwise, the error is kCancelled; if it ended first, its own.
  template <
      boost::asio::completion_token_for<void(boost::system::error_code, GenerationResult)> Token>
  auto async_generate(Request request, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, GenerationResult)>(
        Initiate<WholeOp<GenerationResult>>{core_}, token, std::move(request));
  }

  /// Computes the vector of one input: an embedding, or a classifier's scores. Signature
  /// void(error_code, EmbedResult). Errors and cancellation as for async_generate; also kBadRequest
  /// if the model gives no vector of this kind, and kContextLengthExceeded for an input that is too
  /// long, unless VectorWish::cut_at cuts it.
  template <boost::asio::completion_token_for<void(boost::system::error_code, EmbedResult)> Token>
  auto async_embed(EmbedRequest request, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, EmbedResult)>(
        Initiate<WholeOp<EmbedResult>>{core_}, token, to_request(std::move(request)));
  }

  /// Begins a request. Signature void(error_code, TokenStream). Completes when the request has been
  /// admitted (its arguments are valid and there is room), at the latest with the first delta. The
  /// error is a refusal, or an end before any output; the stream then only has error_detail() and
  /// retry_after(). Cancellation as for async_generate.
  template <boost::asio::completion_token_for<void(boost::system::error_code, TokenStream)> Token>
  auto async_open(Request request, Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code, TokenStream)>(
        Initiate<OpenOp>{core_}, token, std::move(request));
  }

  /// Begins a request whose outputs go to the caller's own sink, for protocols that need no
  /// stream. The sink is called on the engine's threads, possibly before this returns; a
  /// refusal calls its finish(). Without memory no request begins, and the sink is told as
  /// well.
  RequestHandle submit(Request request, const std::shared_ptr<RequestSink>& sink) noexcept {
    return RequestHandle(core_->submit(sink, std::move(request)));
  }

  /// Refuses new requests with kStopping from now on, and completes when all present requests have
  /// ended. Signature void(error_code). Cancellation of any type ends the wait with
  /// operation_aborted; the engine continues to drain.
  template <boost::asio::completion_token_for<void(boost::system::error_code)> Token>
  auto async_drain(Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
        Initiate<DrainOp>{core_}, token);
  }

  /// Refuses new requests, cancels present requests, and completes when the actors have exited.
  /// Signature and cancellation as for async_drain.
  template <boost::asio::completion_token_for<void(boost::system::error_code)> Token>
  auto async_shutdown(Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
        Initiate<ShutdownOp>{core_}, token);
  }

  /// Whether the engine can serve: no actor that it needs has failed permanently.
  [[nodiscard]] bool ready() const noexcept { return core_->port().ready(); }
  /// Whether it would refuse any request now with kOverloaded, because max_queued_requests have not
  /// ended. A server can then skip reading a request. The answer may change at any moment.
  /// Thread-safe.
  [[nodiscard]] bool full() const noexcept { return core_->port().full(); }
  /// Returns the engine's present numbers, read at slightly different times. Thread-safe.
  [[nodiscard]] EngineStats stats() const { return core_->port().stats(); }
  /// Returns the request in each row, for display. Reading it does not delay ticks.
  [[nodiscard]] std::vector<RowHolder> rows() const { return core_->port().rows(); }
  /// The engine's metrics; valid as long as the engine.
  [[nodiscard]] MetricsRegistry& metrics() const noexcept { return core_->port().metrics(); }
  /// Returns the metrics in Prometheus' text format, see core/prometheus.h.
  [[nodiscard]] std::string metrics_text() const;

 private:
  /// An operation that has not begun; `deferred` may keep it for any time. If it begins after the
  /// engine's end, it is refused with kStopping.
  template <class Op>
  struct Initiate {
    using executor_type = Engine::executor_type;
    std::shared_ptr<EngineCore> core;

    [[nodiscard]] executor_type get_executor() const noexcept { return core->executor(); }

    template <class Handler, class... Args>
    void operator()(Handler&& handler, Args&&... args) const {
      Op::start(*core, std::forward<Handler>(handler), std::forward<Args>(args)...);
    }
  };
  template <class ResultOfAll>
  struct WholeOp;
  struct OpenOp;
  struct DrainOp;
  struct ShutdownOp;
  struct LoadOp;
  struct UnloadOp;
  struct AdapterOp;
  struct TrainOp;

  std::shared_ptr<EngineCore> core_;
};

/// Waits for the end, and returns the complete result as a `ResultOfAll`.
template <class ResultOfAll>
struct Engine::WholeOp {
  template <class Handler>
  static void start(EngineCore& core, Handler&& handler, Request request) {
    const auto stream = core.make_stream(request);
    stream->async_wait(
        StreamWait::kEnd, std::forward<Handler>(handler),
        [](StreamState::Turn turn, auto&& final_handler, boost::system::error_code error) {
          ResultOfAll result;
          const auto end = turn.stream()->copy_result(result);
          if (!error) error = end;
          turn.end();
          std::forward<decltype(final_handler)>(final_handler)(error, std::move(result));
        });
    core.submit(stream, std::move(request));
  }
};

struct Engine::OpenOp {
  template <class Handler>
  static void start(EngineCore& core, Handler&& handler, Request request) {
    const auto stream = core.make_stream(request);
    stream->async_wait(
        StreamWait::kAdmission, std::forward<Handler>(handler),
        [](StreamState::Turn turn, auto&& final_handler, boost::system::error_code error) {
          const auto admission = turn.stream()->take_admission();
          if (!error) error = admission;
          TokenStream opened(turn.stream());
          turn.end();
          std::forward<decltype(final_handler)>(final_handler)(error, std::move(opened));
        });
    core.submit(stream, std::move(request));
  }
};

struct Engine::DrainOp {
  template <class Handler>
  static void start(EngineCore& core, Handler&& handler) {
    core.drain()->async_wait(std::forward<Handler>(handler), core.executor());
  }
};

struct Engine::LoadOp {
  template <class Handler>
  static void start(EngineCore& core, Handler&& handler, const std::string& model) {
    core.load(model, ModelOperation::start(std::forward<Handler>(handler), core.executor()));
  }
};

struct Engine::UnloadOp {
  template <class Handler>
  static void start(EngineCore& core, Handler&& handler, const std::string& model) {
    core.unload(model, ModelOperation::start(std::forward<Handler>(handler), core.executor()));
  }
};

struct Engine::AdapterOp {
  template <class Handler>
  static void start(EngineCore& core, Handler&& handler, AdapterChange change) {
    core.change_adapter(std::move(change),
                        ModelOperation::start(std::forward<Handler>(handler), core.executor()));
  }
};

struct Engine::TrainOp {
  template <class Handler>
  static void start(EngineCore& core, Handler&& handler, const TrainingTask& task) {
    core.train(task.state(),
               ModelOperation::start(std::forward<Handler>(handler), core.executor()));
  }
};

struct Engine::ShutdownOp {
  template <class Handler>
  static void start(EngineCore& core, Handler&& handler) {
    core.shut_down()->async_wait(std::forward<Handler>(handler), core.executor());
  }
};

}  // namespace weft
