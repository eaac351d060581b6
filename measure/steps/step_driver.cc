#include "weft/measure/steps/step_driver.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weft::measure {

StepDriver::StepDriver(StepDevice& device, std::uint64_t seed, std::function<void()> ran)
    : device_(device), seed_(seed), ran_(std::move(ran)) {
  SamplingParams params;
  params.temperature = 0.8F;
  params.top_p = 0.95F;
  params.top_k = 50;
  sampling_ = std::make_shared<const SamplingParams>(params);
}

double StepDriver::prefill(std::int32_t tokens) {
  double seconds = 0;
  const std::int32_t most = device_.limits().step_tokens;
  for (std::int32_t at = 0; at < tokens; at += most) {
    if (at == 0) begin(0, tokens, tokens, 1);
    const std::int32_t count = std::min(most, tokens - at);
    feed(0, at, count);
    if (at + count == tokens) plan_.samples.push_back({0, 0});
    seconds += run();
  }
  return seconds;
}

void StepDriver::fill(std::int32_t rows, std::int32_t from, std::int32_t to) {
  std::int32_t room = device_.limits().step_tokens;
  for (std::int32_t row = 0; row < rows; ++row) {
    for (std::int32_t at = from; at < to;) {
      if (at == from) begin(row, to - from, to, device_.limits().rows);
      const std::int32_t count = std::min(room, to - at);
      feed(row, at, count);
      at += count;
      room -= count;
      if (room > 0) continue;
      run();
      room = device_.limits().step_tokens;
    }
  }
  if (!plan_.entries.empty()) run();
}

double StepDriver::decode(std::int32_t rows, std::int32_t position, std::int32_t steps) {
  // Each sequence begins again, because a sampler accepts no more tokens than a context has.
  for (std::int32_t row = 0; row < rows; ++row) {
    begin(row, 0, position + 1, device_.limits().rows);
  }
  advance(rows, position);
  double seconds = 0;
  for (std::int32_t i = 0; i < steps; ++i) seconds += advance(rows, position);
  return seconds / steps;
}

double StepDriver::advance(std::int32_t rows, std::int32_t position) {
  for (std::int32_t row = 0; row < rows; ++row) {
    plan_.entries.push_back({row, 1, position, kLastToken});
    plan_.samples.push_back({row, row});
  }
  return run();
}

std::int64_t StepDriver::plans_for(std::int64_t tokens) const noexcept {
  const std::int64_t most = device_.limits().step_tokens;
  return (tokens + most - 1) / most;
}

void StepDriver::begin(std::int32_t row, std::int32_t prompt_tokens, std::int32_t end,
                       std::int32_t apart) {
  PlanStart start;
  start.row = row;
  start.sampling = sampling_;
  start.seed = seed_ + static_cast<std::uint64_t>(row);
  start.prompt_tokens = prompt_tokens;
  plan_.starts.push_back(std::move(start));
  const auto count = static_cast<std::int32_t>(device_.limits().pages_for(end));
  plan_.tables.push_back({row, 0, static_cast<std::int32_t>(plan_.pages.size()), count});
  for (std::int32_t page = 0; page < count; ++page) plan_.pages.push_back(page * apart + row);
}

void StepDriver::feed(std::int32_t row, std::int32_t from, std::int32_t count) {
  plan_.entries.push_back({row, count, from, static_cast<std::int32_t>(plan_.ids.size())});
  const auto vocabulary = static_cast<std::uint64_t>(device_.limits().vocabulary);
  for (std::int32_t at = from; at < from + count; ++at) {
    // Neighbouring tokens differ, and so do the tokens of different rows.
    const std::uint64_t mixed =
        static_cast<std::uint64_t>(at) * 7919 + static_cast<std::uint64_t>(row) * 104729 + seed_;
    plan_.ids.push_back(static_cast<TokenId>(mixed % vocabulary));
  }
}

double StepDriver::run() {
  plan_.rows = device_.limits().rows;
  result_.clear();
  const auto began = std::chrono::steady_clock::now();
  device_.run(plan_, result_);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  plan_.clear();
  if (ran_) ran_();
  return took.count();
}

}  // namespace weft::measure
