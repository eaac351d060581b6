// The cost of passing a token through all actors: with a device that computes nothing and takes no
// time, the demo model's tokenizer, and 1 to 1024 streams that begin again when they end.
//   us/token   processor time in user mode, of all threads of the program, over tokens delivered
//   by thread  the same for some threads, also with their time in the kernel
// First with sinks that only count, then with TokenStreams that one io_context reads.
//
//   weft_pipeline_bench [seconds for each figure, default 2] [streams, default all]

#include <sys/resource.h>

#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/engine/engine.h"
#include "weft/actors/pipeline.h"
#include "weft/bench/actors/demo_model.h"
#include "weft/bench/actors/thread_times.h"
#include "weft/bench/actors/timed_device.h"
#include "weft/core/thread.h"

namespace weft::bench {
namespace {

constexpr std::array kStreams{1, 4, 16, 64, 256, 1024};
constexpr std::int32_t kRows = 1024;
constexpr std::int32_t kPrompt = 8;
constexpr std::int32_t kOutput = 1000;
constexpr std::int64_t kContext = 1024;

double user_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

Request endless_request() {
  Request request;
  request.prompt_tokens.assign(kPrompt, 100);
  request.max_tokens = kOutput;
  request.sampling.ignore_eos = true;
  return request;
}

Config config() {
  Config config;
  config.max_queued_requests = 2 * kRows;
  return config;
}

std::unique_ptr<Pipeline> make_pipeline(boost::asio::io_context& io) {
  TimedDevice::Options device;
  device.limits.rows = kRows;
  device.limits.page_tokens = 16;
  device.limits.context = kContext;
  device.limits.pages = kRows * device.limits.pages_per_row();
  device.limits.step_tokens = 2 * kRows;
  ServedModel model = demo_model(kContext);
  device.limits.vocabulary = model.vocabulary;
  device.tokens = endless_tokens(model);
  return std::make_unique<Pipeline>(
      io.get_executor(), config(), std::move(model),
      std::vector<DeviceRanks>{{std::make_shared<TimedDevice>(std::move(device))}});
}

/// The state shared by the streams of a run.
struct Run {
  std::atomic<std::int64_t> tokens{0};   // one thread writes
  std::atomic<std::int32_t> streams{0};  // streams that have not ended
  std::atomic<bool> over{false};

  void count(std::size_t more) noexcept {
    tokens.store(tokens.load(std::memory_order_relaxed) + static_cast<std::int64_t>(more),
                 std::memory_order_relaxed);
  }
};

/// Counts tokens; at its request's end it sends another.
class CountingSink final : public RequestSink {
 public:
  CountingSink(Run& run, Pipeline& pipeline) : run_(run), pipeline_(pipeline) {}

  static void begin(Run& run, Pipeline& pipeline) {
    auto sink = std::make_shared<CountingSink>(run, pipeline);
    pipeline.submit(RequestTicket(pipeline.make_request(endless_request(), std::move(sink))));
  }

  void deliver(const DeltaView& delta) noexcept override { run_.count(delta.tokens.size()); }
  void finish(Finish&& /*finish*/) noexcept override {
    if (run_.over.load(std::memory_order_relaxed)) {
      run_.streams.fetch_sub(1);
    } else {
      begin(run_, pipeline_);
    }
  }

 private:
  Run& run_;
  Pipeline& pipeline_;
};

/// Reads a TokenStream with callbacks; at its end it opens another.
class Reader : public std::enable_shared_from_this<Reader> {
 public:
  Reader(Run& run, Engine& engine) : run_(run), engine_(engine) {}

  void open() {
    engine_.async_open(
        endless_request(),
        [self = shared_from_this()](boost::system::error_code /*error*/, TokenStream got) {
          self->stream_ = std::move(got);
          self->next();
        });
  }

 private:
  void next() {
    stream_.async_next([self = shared_from_this()](boost::system::error_code /*error*/,
                                                   std::optional<Delta> delta) {
      if (delta) {
        self->run_.count(delta->tokens.size());
        self->next();
      } else if (self->run_.over.load(std::memory_order_relaxed)) {
        self->run_.streams.fetch_sub(1);
      } else {
        self->open();
      }
    });
  }

  Run& run_;
  Engine& engine_;
  TokenStream stream_;
};

/// Waits until the streams run, then prints what a token costs during `seconds`.
void measure(Run& run, const char* kind, std::int32_t streams, double seconds) {
  const auto length = std::chrono::duration<double>(seconds);
  std::this_thread::sleep_for(length / 5);
  const ThreadTimes threads_before;
  const double user = user_seconds();
  const std::int64_t tokens = run.tokens.load();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(length);
  const double count = static_cast<double>(run.tokens.load() - tokens);
  const double cost = user_seconds() - user;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const ThreadTimes threads_after;
  std::printf("%-8s %8d %10.3f %12.0f", kind, streams, 1e6 * cost / count, count / took.count());
  for (const char* name : {"executor", "scheduler", "detokenizer", "reader"}) {
    std::printf(" %11.3f", 1e6 * threads_after.since(threads_before, name) / count);
  }
  std::printf("\n");
  std::fflush(stdout);
  run.over.store(true);
  while (run.streams.load() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void count_with_sinks(std::int32_t streams, double seconds) {
  boost::asio::io_context io;
  const auto work = boost::asio::make_work_guard(io);
  Run run;
  run.streams = streams;
  const auto pipeline = make_pipeline(io);
  std::thread reader([&io] {
    name_this_thread("reader");
    io.run();
  });
  for (std::int32_t i = 0; i < streams; ++i) CountingSink::begin(run, *pipeline);
  measure(run, "sinks", streams, seconds);
  io.stop();
  reader.join();
}

void read_streams(std::int32_t streams, double seconds) {
  boost::asio::io_context io;
  const auto work = boost::asio::make_work_guard(io);
  Run run;
  run.streams = streams;
  Engine engine(io.get_executor(), make_pipeline(io));
  std::thread reader([&io] {
    name_this_thread("reader");
    io.run();
  });
  for (std::int32_t i = 0; i < streams; ++i) std::make_shared<Reader>(run, engine)->open();
  measure(run, "streams", streams, seconds);
  io.stop();
  reader.join();
}

}  // namespace
}  // namespace weft::bench

int main(int count, char** arguments) {
  using namespace weft::bench;
  const double seconds = count > 1 ? std::strtod(arguments[1], nullptr) : 2;
  std::printf("%-8s %8s %10s %12s %11s %11s %11s %11s\n", "", "streams", "us/token", "tokens/s",
              "executor", "scheduler", "detokenizer", "reader");
  // With a number of streams only that figure is measured, for a profiler.
  const std::int32_t only =
      count > 2 ? static_cast<std::int32_t>(std::strtol(arguments[2], nullptr, 10)) : 0;
  for (const std::int32_t streams : kStreams) {
    if (only == 0 || only == streams) count_with_sinks(streams, seconds);
  }
  for (const std::int32_t streams : kStreams) {
    if (only == 0 || only == streams) read_streams(streams, seconds);
  }
}
