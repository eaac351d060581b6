#include "weft/actors/engine/engine.h"

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/actors/loading/served_model.h"
#include "weft/actors/models/model_list.h"
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

std::vector<AdapterInfo> Engine::adapters(std::string_view model) const {
  std::shared_ptr<const ServedModel> served = this->model();
  if (const auto list = models()) {
    const ModelInfo* const found = list->find(model);
    served = found == nullptr ? nullptr : found->model;
  }
  if (served == nullptr || served->adapters == nullptr) return {};
  return served->adapters->list();
}

std::string Engine::metrics_text() const { return prometheus_text(metrics()); }

}  // namespace weft
