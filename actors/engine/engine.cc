#include "weft/actors/engine/engine.h"

#include "weft/core/prometheus.h"

namespace weft {

Engine::Engine(boost::asio::any_io_executor executor, std::unique_ptr<RequestPort> port)
    : core_(std::make_shared<EngineCore>(std::move(executor), std::move(port))) {}

Engine& Engine::operator=(Engine&& other) noexcept {
  if (this != &other) {
    if (core_) core_->close();
    core_ = std::move(other.core_);
  }
  return *this;
}

Engine::~Engine() {
  if (core_) core_->close();
}

std::string Engine::metrics_text() const { return prometheus_text(metrics()); }

}  // namespace weft
