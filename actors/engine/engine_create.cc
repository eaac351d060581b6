// Makes engines over Weft's own pipeline. A file of its own, so that a program with its own
// RequestPort links no model and no device.

#include <exception>
#include <memory>
#include <utility>

#include "weft/actors/engine/engine.h"
#include "weft/actors/models/model_host.h"
#include "weft/actors/pipeline.h"
#include "weft/core/error/caught_error.h"

namespace weft {

Result<Engine> Engine::create(boost::asio::any_io_executor executor, const Config& config) {
  return create(std::move(executor), config, PipelineOptions());
}

Result<Engine> Engine::create(boost::asio::any_io_executor executor, const Config& config,
                              const PipelineOptions& options) {
  if (Result<void> valid = config.validate(); !valid) return std::move(valid).error();
  try {
    auto pipeline = std::make_unique<Pipeline>(executor, config, options);
    return Engine(std::move(executor), std::move(pipeline));
  } catch (const std::exception& failure) {
    return caught_error(failure, EngineErrc::kInternal);
  }
}

Result<Engine> Engine::create(boost::asio::any_io_executor executor, const ModelsConfig& config) {
  return create(std::move(executor), config, ModelHostOptions());
}

Result<Engine> Engine::create(boost::asio::any_io_executor executor, const ModelsConfig& config,
                              const ModelHostOptions& options) {
  if (Result<void> valid = config.validate(); !valid) return std::move(valid).error();
  try {
    auto host = std::make_unique<ModelHost>(executor, config, options);
    return Engine(std::move(executor), std::move(host));
  } catch (const std::exception& failure) {
    return caught_error(failure, EngineErrc::kInternal);
  }
}

Engine::Engine(boost::asio::any_io_executor executor, const Config& config)
    : Engine(create(std::move(executor), config).value()) {}

}  // namespace weft
