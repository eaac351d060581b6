#include "weft/actors/engine/load_engine.h"

#include <boost/asio/error.hpp>
#include <exception>

#include "weft/actors/engine_error.h"
#include "weft/core/error/caught_error.h"
#include "weft/core/thread.h"

namespace weft {

EngineLoad::~EngineLoad() {
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();  // the handler was dropped, and this thread held the last reference
  } else {
    thread_.join();
  }
}

void EngineLoad::start(boost::asio::any_io_executor executor, Config config,
                       PipelineOptions options, PendingCompletion completion) {
  completion_.emplace(std::move(completion));
  const auto self = shared_from_this();
  try {
    thread_ = std::thread([self = self, executor = std::move(executor), config = std::move(config),
                           options = std::move(options)]() mutable {
      name_this_thread("weft-load");
      self->started_.wait();
      self->loaded_.emplace(self->load(std::move(executor), config, std::move(options)));
      PendingCompletion done = *std::move(self->completion_);
      self->completion_.reset();
      self.reset();
      std::move(done).post({});
    });
  } catch (...) {
    completion_.reset();  // breaks the cycle: completion and load refer to each other
    throw;
  }
  started_.count_down();
}

Result<Engine> EngineLoad::load(boost::asio::any_io_executor executor, const Config& config,
                                PipelineOptions options) const {
  try {
    options.progress.stop = cancelled_.get_token();
    Result<Engine> engine = Engine::create(std::move(executor), config, options);
    if (cancelled_.stop_requested()) return Error{boost::asio::error::operation_aborted, {}};
    return engine;
  } catch (const std::exception& failure) {
    return caught_error(failure, EngineErrc::kInternal);
  }
}

Result<Engine> EngineLoad::take() {
  thread_.join();  // it has posted the completion that calls take(), and is ending
  Result<Engine> loaded = *std::move(loaded_);
  loaded_.reset();
  return loaded;
}

}  // namespace weft
