#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <utility>
#include <vector>

#include "weft/bench/actors/host_models.h"
#include "weft/bench/actors/modelled_device.h"
#include "weft/bench/actors/serving_experiments.h"
#include "weft/bench/ratio.h"
#include "weft/measure/engine/load_player.h"
#include "weft/measure/engine/running_pipeline.h"
#include "weft/measure/load/load.h"
#include "weft/measure/load/outcome.h"

namespace weft::bench {
namespace {

using measure::Arrival;
using measure::LoadPlayer;
using measure::Outcome;

/// The offered load, as fractions of the device's capacity.
constexpr double kChatShare = 0.2;
constexpr double kLoad = 2;

/// The requests of one kind.
struct Requests {
  std::int32_t prompt;
  std::int32_t output;
};

struct Case {
  const char* name;
  Requests chat;
  Requests batch;
  double seconds;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

measure::Lengths exactly(std::int32_t tokens) {
  return {.low = tokens, .high = tokens, .mean = static_cast<double>(tokens)};
}

/// Draws the arrivals of a Poisson process within `seconds`.
std::vector<Arrival> poisson(const Requests& kind, RequestClass cls, double per_second,
                             double seconds, std::uint64_t seed) {
  measure::LoadShape shape;
  shape.per_second = per_second;
  shape.prompt = exactly(kind.prompt);
  shape.output = exactly(kind.output);
  shape.cls = cls;
  // More requests than will come in that time: twice as many, and some more where they are few.
  constexpr std::size_t kSome = 32;
  shape.requests = static_cast<std::size_t>(2 * per_second * seconds) + kSome;
  auto arrivals = measure::draw(shape, seed);
  std::erase_if(arrivals, [seconds](const Arrival& one) { return one.at >= seconds; });
  return arrivals;
}

std::vector<Outcome> play(LoadPlayer& player, const std::vector<Arrival>& arrivals,
                          double seconds = 0) {
  return measure::require_served(player.play({.arrivals = arrivals}, {.seconds = seconds}),
                                 "overload");
}

std::vector<double> first_token_times(const std::vector<Outcome>& outcomes, RequestClass cls) {
  std::vector<double> times;
  for (const Outcome& one : outcomes) {
    if (one.asked.cls == cls) times.push_back(measure::first_token_of(one));
  }
  return times;
}

/// Returns the times of chat requests that run alone, one after the other.
std::vector<double> unloaded(LoadPlayer& player, const Requests& chat) {
  constexpr int kTimes = 11;
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    const auto one = play(player, {{0, chat.prompt, chat.output, RequestClass::kChat}});
    times.push_back(measure::first_token_of(one.front()));
  }
  return times;
}

/// Returns the requests of this kind that the device can sustain in a second. It is measured with
/// as many as fill the device for a while.
double capacity(LoadPlayer& player, const Requests& kind, std::int32_t rows) {
  const std::vector<Arrival> all(static_cast<std::size_t>(3 * rows),
                                 {0, kind.prompt, kind.output, RequestClass::kBatch});
  return measure::summarize(play(player, all)).requests_per_second();
}

void run_case(const Case& what, ServedModel model, std::shared_ptr<StepDevice> device) {
  const std::int32_t rows = device->limits().rows;
  Config config;
  config.max_queued_requests = 1 << 16;  // no request is refused, so the load is the offered one
  const measure::RunningPipeline pipeline(config, {std::move(model), {{std::move(device)}}});
  LoadPlayer player(*pipeline, 1);
  // Measured first, because the scheduler learns the costs of steps from these requests.
  const double chat_most = capacity(player, what.chat, rows);
  const double batch_most = capacity(player, what.batch, rows);
  const auto alone = unloaded(player, what.chat);
  const auto chats =
      poisson(what.chat, RequestClass::kChat, kChatShare * chat_most, what.seconds, 1);
  const auto light = first_token_times(play(player, chats), RequestClass::kChat);
  // Batch work is left over at the end, because more is offered than the device can sustain.
  const auto batches =
      poisson(what.batch, RequestClass::kBatch, (kLoad - kChatShare) * batch_most, what.seconds, 2);
  const auto arrivals = measure::merge(chats, batches);
  const auto outcomes = play(player, arrivals, what.seconds);
  const auto first = first_token_times(outcomes, RequestClass::kChat);
  const auto waits = first_token_times(outcomes, RequestClass::kBatch);
  const auto print = [](const std::vector<double>& times) {
    std::printf(" | %7.1f %7.1f %7.1f", 1e3 * median(times), 1e3 * mean(times),
                1e3 * quantile(times, 0.9));
  };
  std::printf("%-16s %5zu %7.1f", what.name, first.size(), 1e3 * median(alone));
  print(light);
  print(first);
  std::printf(" | %6.2f %6.2f | %9.1f %4zu of %4zu\n", median(first) / median(light),
              median(first) / median(alone), waits.empty() ? 0 : 1e3 * median(waits), waits.size(),
              batches.size());
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
  for (const Case& what : {Case{"prompts of 128", {128, 32}, {64, 64}, kSeconds},
                           Case{"prompts of 512", {512, 32}, {64, 64}, kSeconds},
                           Case{"batch's of 512", {512, 32}, {512, 64}, kSeconds}}) {
    ModelledDevice modelled = make_modelled_device(kRows, 1024, kStepTokens);
    run_case(what, std::move(modelled.model), std::move(modelled.device));
  }
  HostModel demo = load_demo_model(kRows);
  run_case({"demo model, 256", {256, 32}, {64, 64}, kSeconds}, std::move(demo.model),
           std::move(demo.device));
}

}  // namespace weft::bench
