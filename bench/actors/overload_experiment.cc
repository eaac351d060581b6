#include <algorithm>
#include <cstdio>
#include <numeric>

#include "weft/bench/actors/host_models.h"
#include "weft/bench/actors/load.h"
#include "weft/bench/actors/modelled_device.h"
#include "weft/bench/actors/serving_experiments.h"
#include "weft/bench/ratio.h"

namespace weft::bench {
namespace {

/// The load that is offered, as parts of what the device can carry.
constexpr double kChatShare = 0.2;
constexpr double kLoad = 2;

struct Case {
  const char* name;
  std::int32_t chat_prompt;
  std::int32_t chat_output;
  std::int32_t batch_prompt;
  std::int32_t batch_output;
  double seconds;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The times of chat requests that are sent one after the other, each alone.
std::vector<double> unloaded(Pipeline& pipeline, const Case& what) {
  constexpr int kTimes = 11;
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    const auto one = play(pipeline, {{0, what.chat_prompt, what.chat_output, RequestClass::kChat}});
    times.push_back(one.front().first);
  }
  return times;
}

/// How many such requests a second the device can carry, measured with as many as fill it for a
/// while.
double capacity(Pipeline& pipeline, std::int32_t prompt, std::int32_t output, std::int32_t rows) {
  const std::vector<Arrival> all(static_cast<std::size_t>(3 * rows),
                                 {0, prompt, output, RequestClass::kBatch});
  const auto outcomes = play(pipeline, all);
  double last = 0;
  for (const Outcome& one : outcomes) last = std::max(last, one.ended_at);
  return static_cast<double>(all.size()) / last;
}

void run_case(const Case& what, ServedModel model, std::shared_ptr<StepDevice> device) {
  const std::int32_t rows = device->limits().rows;
  Config config;
  config.max_queued_requests = 1 << 16;  // nothing is refused: the load is what is asked for
  const RunningPipeline pipeline(config, {std::move(model), {std::move(device)}});
  // These come first, since the costs of steps are learnt from them.
  const double chat_most = capacity(*pipeline, what.chat_prompt, what.chat_output, rows);
  const double batch_most = capacity(*pipeline, what.batch_prompt, what.batch_output, rows);
  const auto alone = unloaded(*pipeline, what);
  const LoadShape chat{kChatShare * chat_most, what.seconds,     what.chat_prompt,
                       what.chat_prompt,       what.chat_output, what.chat_output,
                       RequestClass::kChat};
  const LoadShape batch{(kLoad - kChatShare) * batch_most,
                        what.seconds,
                        what.batch_prompt,
                        what.batch_prompt,
                        what.batch_output,
                        what.batch_output,
                        RequestClass::kBatch};
  const auto chats = poisson(chat, 1);
  const auto light = first_token_times(play(*pipeline, chats), RequestClass::kChat);
  // Some batch work is left over at the end, since more is offered than can be carried.
  const auto arrivals = merge(chats, poisson(batch, 2));
  const auto outcomes = play_for(*pipeline, arrivals, what.seconds);
  const auto first = first_token_times(outcomes, RequestClass::kChat);
  const auto sent = std::ranges::count(arrivals, RequestClass::kBatch, &Arrival::cls);
  const auto ended = std::ranges::count(outcomes, RequestClass::kBatch, &Outcome::cls);
  const auto waits = first_token_times(outcomes, RequestClass::kBatch);
  const auto print = [](const std::vector<double>& times) {
    std::printf(" | %7.1f %7.1f %7.1f", 1e3 * median(times), 1e3 * mean(times),
                1e3 * quantile(times, 0.9));
  };
  std::printf("%-16s %5zu %7.1f", what.name, first.size(), 1e3 * median(alone));
  print(light);
  print(first);
  std::printf(" | %6.2f %6.2f | %9.1f %4ld of %4ld\n", median(first) / median(light),
              median(first) / median(alone), waits.empty() ? 0 : 1e3 * median(waits),
              static_cast<long>(ended), static_cast<long>(sent));
  std::fflush(stdout);
}

}  // namespace

void run_overload() {
  constexpr std::int32_t kRows = 32;
  constexpr std::int32_t kStepTokens = 1024;
  std::printf(
      "overload: %.1f times what the device carries, %.1f of it chat; a modelled step takes %ld us"
      " and %ld a token\n",
      kLoad, kChatShare, static_cast<long>(kStepCost.count()),
      static_cast<long>(kTokenCost.count()));
  std::printf("%-16s %5s %7s | %-23s | %-23s | %-13s | %9s %s\n", "first token, ms", "chats", "one",
              "chat without batch", "chat beside batch", "ratio to both", "batch's", "batch ended");
  std::printf("%-16s %5s %7s | %7s %7s %7s | %7s %7s %7s | %6s %6s |\n", "", "", "median", "median",
              "mean", "p90", "median", "mean", "p90", "chat's", "one's");
  constexpr double kSeconds = 7;
  for (const Case& what : {Case{"prompts of 128", 128, 32, 64, 64, kSeconds},
                           Case{"prompts of 512", 512, 32, 64, 64, kSeconds},
                           Case{"batch's of 512", 512, 32, 512, 64, kSeconds}}) {
    ModelledDevice modelled = make_modelled_device(kRows, 1024, kStepTokens);
    run_case(what, std::move(modelled.model), std::move(modelled.device));
  }
  HostModel demo = load_demo_model(kRows);
  run_case({"demo model, 256", 256, 32, 64, 64, kSeconds}, std::move(demo.model),
           std::move(demo.device));
}

}  // namespace weft::bench
