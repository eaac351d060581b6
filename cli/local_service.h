#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "weft/actors/engine/engine.h"
#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/core/metrics.h"
#include "weft/net/service/io_thread.h"
#include "weft/net/service/service.h"

namespace weft::cli {

/// A server without sockets, in this process. It has the requests, answers and bounds of a real
/// server.
class LocalService {
 public:
  /// Loads the model, and blocks meanwhile. Errors: of Pipeline.
  [[nodiscard]] static Result<std::unique_ptr<LocalService>> load(const Config& config);
  LocalService(const LocalService&) = delete;
  LocalService& operator=(const LocalService&) = delete;
  ~LocalService();

  [[nodiscard]] Service& service() noexcept { return service_; }
  [[nodiscard]] Engine& engine() noexcept { return *engine_; }
  /// The thread that runs the answers.
  [[nodiscard]] IoThread& thread() noexcept { return thread_; }
  [[nodiscard]] const std::string& model() const noexcept { return model_; }

  /// Runs `work` on the thread and waits for it.
  void run(const std::function<void()>& work);

 private:
  explicit LocalService(const Config& config);

  std::string model_;
  MetricsRegistry metrics_;
  boost::asio::thread_pool pool_{1};  // the executor of the engine
  IoThread thread_;
  Service service_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace weft::cli
