#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "weft/actors/engine/engine.h"
#include "weft/actors/pipeline.h"
#include "weft/net/server/server.h"
#include "weft/tests/fixture/source_path.h"

namespace weft::test {

/// The demo model behind HTTP and WebSocket on a free port of this machine.
class DemoServer {
 public:
  explicit DemoServer(ServerConfig config = {}, std::int32_t rows = 8, std::int32_t threads = 1) {
    config.port = 0;
    constexpr auto kFormat = RequestLog::Format::kText;
    auto log = std::make_shared<RequestLog>(make_stderr_logger(kFormat, "off"), kFormat, false);
    server_ = Server::create(config, std::move(log)).value();
    Config engine;
    engine.model = source_path("examples/demo_model/model");
    engine.threads = threads;
    engine.max_rows = rows;
    auto pipeline = std::make_unique<Pipeline>(pool_.get_executor(), engine);
    ModelCard card{.name = "demo", .model = pipeline->model()};
    engine_ = std::make_unique<Engine>(pool_.get_executor(), std::move(pipeline));
    server_->open(*engine_, std::move(card));
  }
  DemoServer(const DemoServer&) = delete;
  DemoServer& operator=(const DemoServer&) = delete;
  ~DemoServer() {
    server_->drain();
    server_->close(std::chrono::seconds(5));
    engine_.reset();
  }

  [[nodiscard]] std::string url(const std::string& scheme = "http") const {
    return scheme + "://127.0.0.1:" + std::to_string(server_->port());
  }
  [[nodiscard]] Server& server() { return *server_; }

 private:
  boost::asio::thread_pool pool_{1};
  std::unique_ptr<Server> server_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace weft::test
