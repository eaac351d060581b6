// An engine with Weft's own pipeline behind it. Apart from engine.cc, so that a program which
// brings a port of its own links no model and no device.

#include <boost/system/system_error.hpp>
#include <exception>
#include <memory>
#include <utility>

#include "weft/actors/engine.h"
#include "weft/actors/pipeline.h"

namespace weft {

Result<Engine> Engine::create(boost::asio::any_io_executor executor, const Config& config) {
  if (Result<void> valid = config.validate(); !valid) return std::move(valid).error();
  try {
    auto pipeline = std::make_unique<Pipeline>(executor, config);
    return Engine(std::move(executor), std::move(pipeline));
  } catch (const boost::system::system_error& failure) {
    return Error{failure.code(), failure.what()};
  } catch (const std::exception& failure) {
    return Error{EngineErrc::kInternal, failure.what()};
  }
}

Engine::Engine(boost::asio::any_io_executor executor, const Config& config)
    : Engine(create(std::move(executor), config).value()) {}

}  // namespace weft
