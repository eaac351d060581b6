#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "weft/actors/engine/engine.h"
#include "weft/actors/models/model_host.h"
#include "weft/actors/models/model_list.h"
#include "weft/config/models_config.h"
#include "weft/config/server_config.h"
#include "weft/jobs/fine_tuning.h"
#include "weft/net/server/server.h"

namespace weft::cli {

/// A server from start to end: it listens, answers 503 while its models load, then serves. SIGINT
/// or SIGTERM lets running requests end; while models load it stops loading, within a second. A
/// second signal cancels the requests, so that each stream ends with an error event, and ends the
/// process within two seconds, or four where clients are slow to read; while models load it ends
/// the process at once. A third signal ends it at once. If the engine loses its last model's
/// device, every request gets its error, and the server ends as after a first signal. SIGHUP ends a
/// server that was started at a terminal, since that terminal has closed. Otherwise SIGHUP does
/// nothing: the log goes to stderr, which the server cannot reopen. A SIGHUP that was ignored at
/// the start, as under nohup, stays ignored.
class Serving {
 public:
  /// Ends the process with a status, and never returns.
  using EndProcess = std::function<void(int status)>;

  /// An empty `make` makes the pipelines that `models` describes. `end` is called when the process
  /// must not wait for loading or for a step.
  Serving(
      ModelsConfig models, const ServerConfig& server, std::shared_ptr<RequestLog> log,
      ModelHostOptions::MakeModel make = {},
      EndProcess end = [](int status) { std::_Exit(status); });
  ~Serving();

  /// Returns when the server has ended. Errors: of Server::create and of loading;
  /// EngineErrc::kNotReady names the actor that failed permanently, and the reason.
  Result<void> run();

 private:
  void load();
  /// The result of load().
  struct Loaded {
    std::unique_ptr<boost::asio::thread_pool> completions{};  ///< runs the handlers of fine-tuning
    std::unique_ptr<Engine> engine{};
    std::unique_ptr<FineTuning> fine_tuning{};  ///< null: the configuration has no folder for it
  };
  [[nodiscard]] Result<Loaded> make_engine(ModelHostOptions options);
  void on_loaded(Result<Loaded> loaded);
  void on_change(const ModelInfo& model, std::size_t loaded);
  void tell_of_loaded(const ModelInfo& model);
  void on_lost(std::string why);
  void wait_for_signal();
  void wait_for_hang_up();
  void wait_for_hang_up(bool at_terminal);
  void stop();
  void stop_loading();
  void stop_at_once(int signal);
  void on_drained();
  [[noreturn]] void end_process(int status);
  /// Gives free memory back to the system once all requests have ended, or after connections
  /// without a request.
  void watch_idleness();

  const ModelsConfig models_;
  const ServerConfig server_config_;
  const std::shared_ptr<RequestLog> log_;
  const ModelHostOptions::MakeModel make_;
  const EndProcess end_;
  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_;
  boost::asio::signal_set hang_ups_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer idle_check_;
  std::uint64_t given_back_after_ = 0;  ///< requests that had ended when memory was last given back
  std::size_t most_connections_ = 0;    ///< the most connections since then
  std::unique_ptr<Server> server_;
  std::unique_ptr<boost::asio::thread_pool> completions_;  ///< must outlive the engine
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<FineTuning> fine_tuning_;  ///< goes before the engine
  std::stop_source loading_;                 ///< stops loading
  std::thread loader_;
  std::optional<Error> failure_;
  bool stopping_ = false;
  int ended_by_ = 0;  // the second signal; 0 = none came
};

/// The exit status after run() failed: kEngineLost if a new process may succeed.
[[nodiscard]] int exit_status(const Error& error);

}  // namespace weft::cli
