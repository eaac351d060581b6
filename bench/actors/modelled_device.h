#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "weft/bench/actors/demo_model.h"
#include "weft/bench/actors/timed_device.h"

namespace weft::bench {

/// The time of a step, as a model of some billion parameters takes on one accelerator: decoding
/// reads the weights, and prefill computes.
inline constexpr std::chrono::microseconds kStepCost{8000};
inline constexpr std::chrono::microseconds kTokenCost{40};   ///< for each token, including prompt
                                                             ///< tokens
inline constexpr std::chrono::nanoseconds kContextCost{20};  ///< for each token that a token
                                                             ///< attends to

inline Duration modelled_cost(const Plan& plan) {
  Duration cost = kStepCost;
  for (const PlanEntry& entry : plan.entries) {
    cost += entry.count * kTokenCost + (entry.start + entry.count) * kContextCost;
  }
  return cost;
}

struct ModelledDevice {
  ServedModel model;
  std::shared_ptr<StepDevice> device;
};

inline ModelledDevice make_modelled_device(std::int32_t rows, std::int64_t context,
                                           std::int32_t step_tokens) {
  ServedModel model = demo_model(context);
  TimedDevice::Options options;
  options.limits.rows = rows;
  options.limits.page_tokens = 16;
  options.limits.context = context;
  options.limits.pages = rows * options.limits.pages_per_row();
  options.limits.step_tokens = step_tokens;
  options.limits.vocabulary = model.vocabulary;
  options.tokens = endless_tokens(model);
  options.cost = modelled_cost;
  return {std::move(model), std::make_shared<TimedDevice>(std::move(options))};
}

}  // namespace weft::bench
