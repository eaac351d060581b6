#include "weft/core/actor/actor_system.h"

#include <boost/system/system_error.hpp>

#include "weft/core/time/steady_clock.h"

namespace weft {
namespace {

std::shared_ptr<ActorEnvironment> make_environment(boost::asio::any_io_executor executor,
                                                   ActorSystemOptions options) {
  auto environment = std::make_shared<ActorEnvironment>();
  environment->executor = std::move(executor);
  environment->clock = options.clock ? std::move(options.clock) : std::make_shared<SteadyClock>();
  environment->metrics =
      options.metrics ? std::move(options.metrics) : std::make_shared<MetricsRegistry>();
  environment->supervision = std::move(options.supervision);
  environment->on_exit = std::move(options.on_exit);
  environment->tap = options.tap;
  return environment;
}

}  // namespace

ActorSystem::ActorSystem(boost::asio::any_io_executor executor, ActorSystemOptions options)
    : environment_(make_environment(std::move(executor), std::move(options))) {}

ActorSystem::~ActorSystem() {
  running_.close();
  // All actors are asked to stop first, so an actor that waits for another's end finds it ending.
  request_stop();
  for (const auto& core : cores_) core->stop_now();
}

void ActorSystem::adopt(std::shared_ptr<ActorCore> core) {
  const std::scoped_lock lock(mutex_);
  cores_.push_back(std::move(core));
}

void ActorSystem::start_core(ActorCore& core) {
  Gate::Holder holder = running_.try_enter();
  if (!holder) throw boost::system::system_error(CoreErrc::kStopped, core.options().name);
  core.start(std::move(holder));
}

void ActorSystem::request_stop() noexcept {
  running_.close();
  const std::scoped_lock lock(mutex_);
  for (const auto& core : cores_) core->request_stop();
}

bool ActorSystem::ready() const noexcept {
  return environment_->ready.load(std::memory_order_acquire);
}

const boost::asio::any_io_executor& ActorSystem::executor() const noexcept {
  return environment_->executor;
}

}  // namespace weft
