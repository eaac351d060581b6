// The cost of a tick in a Stepper, compared with the same tick through all actors: with a device
// that computes nothing and takes no time, the demo model's tokenizer, and streams that all run to
// their end. Wall time and processor time, for 1 to 256 streams.

#include <benchmark/benchmark.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <ctime>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "weft/actors/pipeline.h"
#include "weft/actors/stepper/stepper.h"
#include "weft/bench/actors/demo_model.h"
#include "weft/bench/actors/timed_device.h"
#include "weft/bench/ratio.h"

namespace weft::bench {
namespace {

constexpr std::int32_t kRows = 256;
constexpr std::int32_t kTicks = 1000;
constexpr std::int64_t kContext = 1024;

Request request_of_all_ticks() {
  Request request;
  request.prompt_tokens.assign(8, 100);
  request.max_tokens = kTicks;
  request.sampling.ignore_eos = true;
  return request;
}

std::shared_ptr<StepDevice> make_device(const ServedModel& model) {
  TimedDevice::Options device;
  device.limits.rows = kRows;
  device.limits.page_tokens = 16;
  device.limits.context = kContext;
  device.limits.pages = kRows * device.limits.pages_per_row();
  device.limits.step_tokens = 8 * kRows;
  device.limits.vocabulary = model.vocabulary;
  device.tokens = endless_tokens(model);
  return std::make_shared<TimedDevice>(std::move(device));
}

/// Counts down the requests that have not ended.
class EndSink final : public RequestSink {
 public:
  explicit EndSink(std::atomic<std::int32_t>& left) : left_(left) {}
  void deliver(const DeltaView& delta) noexcept override { benchmark::DoNotOptimize(delta.text); }
  void finish(Finish&& /*finish*/) noexcept override {
    if (left_.fetch_sub(1) == 1) left_.notify_one();
  }

 private:
  std::atomic<std::int32_t>& left_;
};

class RunningPipeline {
 public:
  RunningPipeline() {
    ServedModel model = demo_model(kContext);
    auto device = make_device(model);
    pipeline_ = std::make_unique<Pipeline>(io_.get_executor(), Config(), std::move(model),
                                           std::vector<DeviceRanks>{{std::move(device)}});
    thread_ = std::thread([this] { io_.run(); });
  }
  RunningPipeline(const RunningPipeline&) = delete;
  RunningPipeline& operator=(const RunningPipeline&) = delete;
  ~RunningPipeline() {
    pipeline_.reset();
    io_.stop();
    thread_.join();
  }

  void run(std::int32_t streams) {
    std::atomic<std::int32_t> left{streams};
    for (std::int32_t i = 0; i < streams; ++i) {
      pipeline_->submit(RequestTicket(
          pipeline_->make_request(request_of_all_ticks(), std::make_shared<EndSink>(left))));
    }
    for (std::int32_t now = left.load(); now > 0; now = left.load()) left.wait(now);
  }

 private:
  boost::asio::io_context io_;
  const boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::unique_ptr<Pipeline> pipeline_;
  std::thread thread_;
};

void run(Stepper& stepper, std::int32_t streams) {
  for (std::int32_t i = 0; i < streams; ++i) stepper.add(request_of_all_ticks()).value();
  while (!stepper.idle()) {
    for (const StepOutput& output : stepper.infer()) benchmark::DoNotOptimize(output.deltas.data());
  }
}

/// Returns the processor time of all threads of the program.
template <class Work>
double processor_seconds(Work&& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

template <class Measure>
void ticks(benchmark::State& state, Measure measure) {
  const auto streams = static_cast<std::int32_t>(state.range(0));
  RunningPipeline pipeline;
  ServedModel model = demo_model(kContext);
  auto device = make_device(model);
  Stepper stepper(Config(), std::move(model), std::move(device));
  compare(
      state, kTicks, [&] { return measure([&] { run(stepper, streams); }); },
      [&] { return measure([&] { pipeline.run(streams); }); });
}

void tick_wall(benchmark::State& state) {
  ticks(state, [](auto&& work) { return seconds(work); });
}
void tick_processor(benchmark::State& state) {
  ticks(state, [](auto&& work) { return processor_seconds(work); });
}

void arguments(benchmark::internal::Benchmark* one) {
  one->Arg(1)->Arg(16)->Arg(256)->Iterations(kPairs)->UseManualTime();
  one->Unit(benchmark::kMillisecond);
}

BENCHMARK(tick_wall)->Apply(arguments);
BENCHMARK(tick_processor)->Apply(arguments);

}  // namespace
}  // namespace weft::bench
