#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/system/error_code.hpp>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "weft/actors/engine/engine.h"
#include "weft/actors/pipeline.h"
#include "weft/actors/request/pending_completion.h"
#include "weft/config/config.h"
#include "weft/core/error/error.h"

namespace weft {

/// The state of async_load_engine: a model that is loaded for an engine on its own thread.
/// Owned by a shared_ptr.
class EngineLoad : public std::enable_shared_from_this<EngineLoad> {
 public:
  EngineLoad() = default;
  EngineLoad(const EngineLoad&) = delete;
  EngineLoad& operator=(const EngineLoad&) = delete;
  ~EngineLoad();

  /// Starts the thread; call it once. Throws std::system_error if no thread can start.
  void start(boost::asio::any_io_executor executor, Config config, PipelineOptions options,
             PendingCompletion completion);
  /// Thread-safe.
  void cancel() noexcept { cancelled_.request_stop(); }
  /// Returns the loaded engine or the error; called once, by the completion.
  [[nodiscard]] Result<Engine> take();

 private:
  [[nodiscard]] Result<Engine> load(boost::asio::any_io_executor executor, const Config& config,
                                    PipelineOptions options) const;

  std::stop_source cancelled_;
  std::optional<Result<Engine>> loaded_;
  std::optional<PendingCompletion> completion_;
  std::latch started_{1};  ///< thread_ is assigned, so the completion may join it
  std::thread thread_;
};

/// Makes an engine as Engine::create() does, without blocking. Signature void(Result<Engine>), on
/// the handler's associated executor (without one: `executor`); errors as for create().
/// Cancellation of any type ends the loading at the next piece of weights and the operation with
/// operation_aborted, and frees the engine. `options.progress` is called on the loading thread; its
/// `stop` is ignored. The contexts of `executor` and of the handler must outlive the
/// operation.
template <boost::asio::completion_token_for<void(Result<Engine>)> Token>
auto async_load_engine(boost::asio::any_io_executor executor, Config config,
                       PipelineOptions options, Token&& token) {
  return boost::asio::async_initiate<Token, void(Result<Engine>)>(
      [](auto handler, boost::asio::any_io_executor own, Config what, PipelineOptions how) {
        const auto load = std::make_shared<EngineLoad>();
        auto slot = boost::asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) {
          slot.assign([weak = std::weak_ptr(load)](boost::asio::cancellation_type type) {
            const auto running = weak.lock();
            if (running && type != boost::asio::cancellation_type::none) running->cancel();
          });
        }
        PendingCompletion completion(
            std::move(handler), own,
            [load = load](auto&& final_handler, boost::system::error_code /*none*/) mutable {
              Result<Engine> loaded = load->take();
              load.reset();
              std::forward<decltype(final_handler)>(final_handler)(std::move(loaded));
            });
        load->start(std::move(own), std::move(what), std::move(how), std::move(completion));
      },
      token, std::move(executor), std::move(config), std::move(options));
}

}  // namespace weft
