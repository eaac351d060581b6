// A program of its own, because it replaces operator new.

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "weft/actors/pipeline.h"
#include "weft/actors/training/training_state.h"
#include "weft/gpu/forwarding_device.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/step_options.h"
#include "weft/model/random_llama.h"
#include "weft/tests/actors/letter_model.h"
#include "weft/tests/fixture/allocation_count.h"
#include "weft/tests/fixture/fake_ranks.h"
#include "weft/tests/fixture/fake_training.h"

namespace weft::test {
namespace {

class CountingSink final : public RequestSink {
 public:
  void deliver(const DeltaView& delta) noexcept override { tokens += delta.tokens.size(); }
  void finish(Finish&& /*finish*/) noexcept override { ended.set_value(); }

  std::size_t tokens = 0;
  std::promise<void> ended;
};

/// Passes steps on, and counts what all threads allocate between two of them, numbered from the one
/// that starts the last row. Runs none before all requests have been submitted.
class MeasuredDevice final : public ForwardingDevice {
 public:
  MeasuredDevice(std::shared_ptr<StepDevice> device, std::size_t first, std::size_t count)
      : ForwardingDevice(std::move(device)),
        rows_(static_cast<std::size_t>(limits().rows)),
        first_(first),
        last_(first + count) {}

  void run(const Plan& plan, StepResult& result) override {
    if (!std::exchange(has_waited_, true)) submitted.get_future().wait();
    device().run(plan, result);
    started_ += plan.starts.size();
    if (started_ < rows_) return;
    ++steps_;
    if (steps_ == first_) before_ = allocations_of_all_threads();
    if (steps_ == last_) allocations = allocations_of_all_threads() - before_;
  }

  std::promise<void> submitted;
  std::atomic<std::size_t> allocations{SIZE_MAX};

 private:
  const std::size_t rows_, first_, last_;
  bool has_waited_ = false;
  std::size_t started_ = 0;
  std::size_t steps_ = 0;
  std::size_t before_ = 0;
};

DeviceLimits limits(std::int64_t context) {
  DeviceLimits limits;
  limits.rows = 4;
  limits.page_tokens = 16;
  limits.context = context;
  limits.pages = limits.rows * limits.pages_per_row();
  limits.step_tokens = 64;
  limits.vocabulary = kLetters;
  return limits;
}

// Ticks of a device that takes no time, while requests are prepared.
constexpr std::size_t kLongest = 30'000;

/// Returns how often `count` ticks allocate after a warm-up, with all rows running, and with
/// `training` behind each of them if there is some.
std::size_t allocations_of(DeviceRanks ranks, std::size_t count,
                           const std::shared_ptr<TrainingWork>& training = nullptr) {
  constexpr std::size_t kWarmUp = 200;
  constexpr std::int32_t kPrompt = 20;
  const DeviceLimits limits = ranks.back()->limits();
  // As many as there is context: the first rows decode while the last are prepared, and none may
  // end in between.
  const auto tokens = static_cast<std::size_t>(limits.context - kPrompt);
  auto device = std::make_shared<MeasuredDevice>(ranks.back(), kWarmUp, count);
  ranks.back() = device;
  boost::asio::thread_pool pool(1);
  Config config;
  config.training = TrainingKind::kFill;
  // Without a target a piece runs after a step, however long steps and pieces take.
  if (training) config.target_inter_token = {};
  Pipeline pipeline(pool.get_executor(), config, letter_model(limits.context),
                    std::vector<DeviceRanks>{std::move(ranks)});
  std::vector<std::shared_ptr<CountingSink>> sinks;
  for (std::int32_t i = 0; i < limits.rows; ++i) {
    Request request;
    request.prompt_tokens.assign(kPrompt, i);
    request.max_tokens = static_cast<std::int32_t>(tokens);
    request.sampling.seed = static_cast<std::uint64_t>(i);
    request.sampling.logprobs = i == 1;
    request.sampling.top_logprobs = i == 1 ? 3 : 0;
    if (i == 2) request.stop = {"this is not among the letters"};
    sinks.push_back(std::make_shared<CountingSink>());
    pipeline.submit(RequestTicket(pipeline.make_request(std::move(request), sinks.back())));
  }
  if (training) {
    pipeline.train(std::make_shared<TrainingState>(training), [](const Result<void>&) {});
  }
  device->submitted.set_value();
  for (const auto& sink : sinks) {
    sink->ended.get_future().wait();
    EXPECT_EQ(sink->tokens, tokens);
  }
  return device->allocations;
}

TEST(PipelineAllocationTest, TenThousandTicksAllocateNothingInAnyThread) {
  constexpr std::size_t kTicks = 10'000;
  FakeDevice::Options options{.limits = limits(kTicks + kLongest), .remembers = false};
  EXPECT_EQ(allocations_of({std::make_shared<FakeDevice>(std::move(options))}, kTicks), 0U);
}

TEST(PipelineAllocationTest, TicksOfSeveralStagesAndRanksAllocateNothingInAnyThread) {
  constexpr std::size_t kTicks = 3000;
  FakeDevice::Options options{.limits = limits(kTicks + kLongest), .remembers = false};
  options.limits.stages = 2;
  const auto ranks = std::make_shared<FakeRanks>(FakeRanks::Options{std::move(options), 2});
  EXPECT_EQ(allocations_of(ranks->devices(), kTicks), 0U);
}

TEST(PipelineAllocationTest, TicksOfTheHostDeviceAllocateNothingInAnyThread) {
  constexpr std::size_t kTicks = 1000;
  const RandomLlama llama({.layers = 1,
                           .hidden = 32,
                           .ffn = 32,
                           .heads = 2,
                           .kv_heads = 1,
                           .vocabulary = kLetters,
                           .context = 8192},
                          1);
  const DeviceLimits sizes = limits(8192);
  const DeviceOptions options = step_options(*llama.program(), sizes, DType::kF32, 2);
  auto host = HostDevice::load(llama.checkpoint(), llama.program(), options).value();
  auto device = std::make_shared<HostStepDevice>(std::move(host), sizes, std::vector<TokenId>{});
  EXPECT_EQ(allocations_of({std::move(device)}, kTicks), 0U);
}

TEST(PipelineAllocationTest, TicksWithTrainingAllocateNothingInAnyThread) {
  constexpr std::size_t kTicks = 3000;
  FakeDevice::Options options{.limits = limits(kTicks + kLongest), .remembers = false};
  const auto training =
      std::make_shared<FakeTraining>(FakeTraining::Options{.iterations = 1'000'000'000});
  EXPECT_EQ(allocations_of({std::make_shared<FakeDevice>(std::move(options))}, kTicks, training),
            0U);
  EXPECT_GT(training->ran, 1000);
}

TEST(PipelineAllocationTest, AllocationsAreCounted) {
  const std::size_t before = allocations_of_all_threads();
  ::operator delete(::operator new(8));  // a new expression might be optimised away
  EXPECT_GT(allocations_of_all_threads(), before);
}

}  // namespace
}  // namespace weft::test
