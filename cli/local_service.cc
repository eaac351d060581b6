#include "weft/cli/local_service.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstdint>
#include <future>
#include <limits>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/pipeline.h"
#include "weft/cli/model_loading.h"
#include "weft/cli/progress_bar.h"
#include "weft/core/error/caught_error.h"
#include "weft/net/service/request_log.h"

namespace weft::cli {
namespace {

/// No object here needs IoThread's sweep.
constexpr std::chrono::seconds kNoSweep{60};

/// Returns bounds for a single client that reads all output: the user.
ServerConfig server_config() {
  ServerConfig config;
  config.max_streams = std::numeric_limits<std::int32_t>::max();
  config.max_stored_responses = 0;
  return config;
}

std::shared_ptr<RequestLog> no_log() {
  constexpr auto kFormat = RequestLog::Format::kText;
  return std::make_shared<RequestLog>(make_stderr_logger(kFormat, "off"), kFormat, false);
}

std::unique_ptr<Pipeline> load_pipeline(boost::asio::any_io_executor executor,
                                        const Config& config) {
  ProgressBar bar("loading");
  PipelineOptions options;
  options.progress = [&bar](std::int64_t done, std::int64_t total) { bar.show(done, total); };
  return std::make_unique<Pipeline>(std::move(executor), config, options);
}

}  // namespace

LocalService::LocalService(const Config& config)
    : model_(model_name(config.model)),
      thread_(kNoSweep),
      service_(server_config(), ApiKeys(), no_log(), metrics_) {
  auto pipeline = load_pipeline(pool_.get_executor(), config);
  ModelCard card{.name = model_, .model = pipeline->model()};
  engine_ = std::make_unique<Engine>(pool_.get_executor(), std::move(pipeline));
  service_.open(*engine_, std::move(card));
}

LocalService::~LocalService() {
  thread_.stop();
  service_.stop_workers();  // first, because a worker may still decode a body for the engine's
                            // models
  engine_.reset();
}

Result<std::unique_ptr<LocalService>> LocalService::load(const Config& config) {
  try {
    return std::unique_ptr<LocalService>(new LocalService(config));
  } catch (const std::exception& failure) {
    return caught_error(failure, EngineErrc::kInternal);
  }
}

void LocalService::run(const std::function<void()>& work) {
  std::promise<void> done;
  boost::asio::post(thread_.context(), [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace weft::cli
