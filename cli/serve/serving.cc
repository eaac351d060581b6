#include "weft/cli/serve/serving.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iomanip>
#include <sstream>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/cli/fail.h"
#include "weft/cli/serve/heap.h"
#include "weft/cli/size_text.h"
#include "weft/core/error/caught_error.h"
#include "weft/core/kv_dtype.h"
#include "weft/gpu/device_error.h"
#include "weft/jobs/engine_trainer.h"

namespace weft::cli {
namespace {

// The time after the last answer in which its bytes may still reach the client.
constexpr std::chrono::seconds kLastBytes{5};

// The time for each stream's last error event, when the server is told to end at once.
constexpr std::chrono::seconds kLastWords{2};

// The time in which loading should end after a stop. Loading checks before each piece of a matrix,
// but a driver or a system call may take long, for example to lock pages.
constexpr std::chrono::seconds kLoadingEnds{1};

// The time in which the last refusals may still reach their client.
constexpr std::chrono::milliseconds kLastRefusals{200};

// The interval of idleness checks: long after a burst's last request, and soon for a person who
// watches the process.
constexpr std::chrono::seconds kIdleCheck{2};

// Smaller models load too fast for anyone to read the progress.
constexpr std::int64_t kWorthTelling = 1'000'000'000;

/// Writes "loading: 1.3 of 13.5 GB".
std::string loading_text(std::int64_t done, std::int64_t total) {
  constexpr double kBytes = 1e9;
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << "loading: " << static_cast<double>(done) / kBytes
       << " of " << static_cast<double>(total) / kBytes << " GB";
  return text.str();
}

/// Writes "1.5 GiB of keys and values in bf16", and where they are if that is not the device.
std::string kv_text(const ServedModel& model) {
  return size_text(model.kv_bytes) + " of keys and values in " +
         std::string(kv_dtype_name(model.kv_dtype)) + (model.kv_on_host ? ", in host memory" : "");
}

bool ignores(int signal) {
  struct sigaction now{};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

Serving::Serving(ModelsConfig models, const ServerConfig& server, std::shared_ptr<RequestLog> log,
                 ModelHostOptions::MakeModel make, EndProcess end)
    : models_(std::move(models)),
      server_config_(server),
      log_(std::move(log)),
      make_(std::move(make)),
      end_(std::move(end)),
      signals_(io_, SIGINT, SIGTERM),
      hang_ups_(io_),
      deadline_(io_),
      idle_check_(io_) {}

Serving::~Serving() {
  if (loader_.joinable()) loader_.join();
}

Result<void> Serving::run() {
  auto server = Server::create(server_config_, log_);
  if (!server) return std::move(server).error();
  server_ = *std::move(server);
  for (const std::string& address : server_->addresses()) log_->info("listening on " + address);
  wait_for_signal();
  wait_for_hang_up();
  load();
  io_.run();
  fine_tuning_.reset();
  engine_.reset();
  server_.reset();
  if (failure_) return *std::move(failure_);
  return {};
}

void Serving::load() {
  // Loading has a thread of its own, so that signals and requests are answered meanwhile.
  loader_ = std::thread([this] {
    ModelHostOptions options;
    options.make = make_;
    options.pipeline.progress = [this, told = std::int64_t{0}](std::int64_t done,
                                                               std::int64_t total) mutable {
      const std::int64_t tenths = 10 * done / std::max<std::int64_t>(total, 1);
      if (total < kWorthTelling || tenths == std::exchange(told, tenths)) return;
      log_->info(loading_text(done, total));
    };
    options.pipeline.progress.stop = loading_.get_token();
    options.pipeline.notice = [this](const std::string& what) { log_->warning(what); };
    options.on_change = [this](const ModelInfo& model, std::size_t loaded) {
      on_change(model, loaded);
    };
    Result<Loaded> loaded = Error{EngineErrc::kInternal, {}};
    try {
      loaded = make_engine(std::move(options));
    } catch (const std::exception& failure) {
      loaded = caught_error(failure, EngineErrc::kInternal);
    }
    boost::asio::post(
        io_, [this, loaded = std::move(loaded)]() mutable { on_loaded(std::move(loaded)); });
  });
}

Result<Serving::Loaded> Serving::make_engine(ModelHostOptions options) {
  Loaded loaded;
  auto host = std::make_unique<ModelHost>(io_.get_executor(), models_, std::move(options));
  loaded.engine = std::make_unique<Engine>(io_.get_executor(), std::move(host));
  const Config& config = models_.models.front().config;
  if (config.training_folder.empty()) return loaded;
  loaded.completions = std::make_unique<boost::asio::thread_pool>(1);
  auto trainer =
      std::make_unique<EngineTrainer>(*loaded.engine, config, loaded.completions->get_executor());
  auto tuning = FineTuning::open(
      config, std::move(trainer), [this](const std::string& what) { log_->warning(what); },
      &loaded.engine->metrics());
  if (!tuning) return tuning.error();
  loaded.fine_tuning = *std::move(tuning);
  return loaded;
}

void Serving::on_change(const ModelInfo& model, std::size_t loaded) {
  if (loading_.stop_requested()) return;
  const std::string name = "model " + model.name + ": ";
  if (model.state == ModelState::kLoaded) {
    tell_of_loaded(model);
    // This thread is the host's, and fine-tuning will call the host.
    boost::asio::post(io_, [this, name = model.name] {
      if (fine_tuning_ != nullptr) fine_tuning_->on_base_loaded(name);
    });
    return;
  }
  if (model.state != ModelState::kFailed) {
    if (models_.models.size() > 1) log_->info(name + std::string(to_string(model.state)));
    return_free_memory();  // returns the memory of the model
    return;
  }
  const bool was_lost = model.failure.code == EngineErrc::kNotReady;
  if (models_.models.size() > 1) {
    log_->error(name + (was_lost ? "lost: " + model.failure.detail
                                 : "not loaded: " + to_string(model.failure)));
  }
  if (!was_lost || loaded > 0) return;
  boost::asio::post(io_, [this, why = model.failure.detail]() mutable { on_lost(std::move(why)); });
}

void Serving::tell_of_loaded(const ModelInfo& model) {
  const ServedModel& served = *model.model;
  if (!served.tokenizer.exists()) {
    log_->warning("model " + model.name +
                  ": has no tokenizer files: it takes token ids alone, and gives ids back");
  } else if (const auto problem = served.chat.problem(); problem && served.generates) {
    const std::string what = "the model cannot chat, and serves completions alone: ";
    const std::string file(served.tokenizer.chat_template_file());
    if (served.tokenizer.chat_template().empty()) {
      log_->info(what + problem->detail);
    } else {
      log_->warning(what + file + ": " + to_string(*problem));
    }
  }
  for (const std::string& warning : served.warnings) log_->warning(warning);
  for (const std::string& reason : served.placement) log_->info(reason);
  if (models_.models.size() == 1) return;  // on_loaded() logs more about a single model
  log_->info("model " + model.name + ": loaded (" + kv_text(served) + ')');
}

void Serving::on_loaded(Result<Loaded> loaded) {
  deadline_.cancel();  // the deadline of loading
  if (!loaded) {
    if (stopping_) return on_drained();
    failure_ = std::move(loaded).error();
    return stop();
  }
  completions_ = std::move(loaded->completions);
  engine_ = std::move(loaded->engine);
  fine_tuning_ = std::move(loaded->fine_tuning);
  if (stopping_) return on_drained();
  // An actor may have failed while the others were started.
  if (failure_) return stop();
  const EngineStats stats = engine_->stats();
  const auto list = engine_->models();
  std::string what;
  for (const ModelInfo& model : list->models) {
    if (model.model) what.append(what.empty() ? "" : ", ").append(model.name);
  }
  what = "serving " + what + " with " + std::to_string(stats.rows) + " rows and " +
         std::to_string(stats.pages) + " pages";
  if (list->models.size() == 1 && list->models.front().model) {
    const ServedModel& model = *list->models.front().model;
    what += " (" + kv_text(model) + ')';
  }
  log_->info(what);
  if (fine_tuning_ != nullptr) server_->service().offer(*fine_tuning_);
  server_->open(*engine_);
  return_free_memory();  // returns the memory that loading used
  watch_idleness();
}

void Serving::watch_idleness() {
  idle_check_.expires_after(kIdleCheck);
  idle_check_.async_wait([this](boost::system::error_code error) {
    if (error || engine_ == nullptr) return;
    const EngineStats stats = engine_->stats();
    const std::size_t connections = server_->connections();
    most_connections_ = std::max(most_connections_, connections);
    const bool some_ended = stats.finished != given_back_after_ || connections < most_connections_;
    if (stats.requests == 0 && some_ended) {
      return_free_memory();
      given_back_after_ = stats.finished;
      most_connections_ = connections;
    }
    watch_idleness();
  });
}

void Serving::on_lost(std::string why) {
  if (failure_) return;
  log_->error("the engine has failed for good: " + why);
  failure_ = Error{EngineErrc::kNotReady, std::move(why)};
  if (engine_ != nullptr) stop();
}

void Serving::wait_for_signal() {
  signals_.async_wait([this](boost::system::error_code error, int signal) {
    if (error) return;
    // Ends at once where no engine has requests to end, or at the third signal.
    if (stopping_ && (engine_ == nullptr || ended_by_ != 0)) end_process(status_after(signal));
    wait_for_signal();
    if (stopping_) return stop_at_once(signal);
    log_->info("stopping; once more ends it at once");
    stop();
  });
}

void Serving::wait_for_hang_up() {
  if (ignores(SIGHUP)) return;
  // Asked now, because isatty() fails once the terminal has closed.
  const bool at_terminal = ::isatty(STDERR_FILENO) == 1;
  hang_ups_.add(SIGHUP);
  wait_for_hang_up(at_terminal);
}

void Serving::wait_for_hang_up(bool at_terminal) {
  hang_ups_.async_wait([this, at_terminal](boost::system::error_code error, int /*signal*/) {
    if (error) return;
    if (!at_terminal) {
      log_->info("SIGHUP changes nothing: the log goes to standard error");
      return wait_for_hang_up(false);
    }
    log_->info("stopping, since the terminal has gone");
    if (engine_ == nullptr) end_process(status_after(SIGHUP));
    stop();
  });
}

void Serving::stop() {
  if (std::exchange(stopping_, true)) return;
  server_->drain();
  if (engine_ == nullptr) return failure_ ? on_drained() : stop_loading();
  if (fine_tuning_ != nullptr) fine_tuning_->stop();  // requests may wait for its training
  engine_->async_drain([this](boost::system::error_code) {
    deadline_.cancel();
    on_drained();
  });
  deadline_.expires_after(server_config_.drain_timeout);
  deadline_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    log_->warning("some requests did not end in time, and are cancelled");
    engine_->async_shutdown([](boost::system::error_code) {});
  });
}

/// Stops loading; when loading ends in time, on_loaded() goes on from here.
void Serving::stop_loading() {
  loading_.request_stop();
  deadline_.expires_after(kLoadingEnds);
  deadline_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    server_->close(kLastRefusals);
    end_process(EXIT_SUCCESS);
  });
}

void Serving::stop_at_once(int signal) {
  log_->warning("running requests are cancelled");
  ended_by_ = signal;
  engine_->async_shutdown([](boost::system::error_code) {});
  // The device may be in the middle of a long step, and the engine waits for it.
  deadline_.expires_after(kLastWords);
  deadline_.async_wait([this, signal](boost::system::error_code error) {
    if (!error) end_process(status_after(signal));
  });
}

void Serving::end_process(int status) {
  log_->flush();
  end_(status);
  std::abort();
}

void Serving::on_drained() {
  const auto last_bytes = ended_by_ == 0 ? kLastBytes : kLastWords;
  server_->close(loading_.stop_requested() ? kLastRefusals : last_bytes);
  if (ended_by_ != 0) end_process(status_after(ended_by_));
  signals_.cancel();
  hang_ups_.cancel();
  deadline_.cancel();
  idle_check_.cancel();
  io_.stop();
}

int exit_status(const Error& error) {
  const bool lost = error.code == EngineErrc::kNotReady || error.code == DeviceErrc::kRankLost;
  return lost ? kEngineLost : kExitFailed;
}

}  // namespace weft::cli
