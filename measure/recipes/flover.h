#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/measure/engine/engine_load.h"
#include "weft/measure/recipe.h"

/// The parts that the recipes after Flover share (J. Yao et al., "Flover: A Temporal Fusion
/// Framework for Efficient Autoregressive Model Parallel Inference").
namespace weft::measure {

/// The interval between requests, as a fraction of the time that one takes alone. In the paper
/// these are 500 ms and 5.8 s (section VI.C). The ratio does not depend on device and model.
inline constexpr double kFloverInterval = 500.0 / 5800.0;
inline constexpr std::int32_t kFloverRequests = 32;

/// Lengths of the recipes' requests in tokens. The paper's outputs have 512; the host's have fewer,
/// so that a recipe ends within minutes.
struct FloverLengths {
  std::int32_t prompt = 8;
  std::int32_t output = 64;
};
[[nodiscard]] FloverLengths flover_lengths(const RecipeSetup& setup);

/// Returns `count` requests, one every `interval` seconds.
[[nodiscard]] std::vector<Arrival> at_interval(std::int32_t count, double interval,
                                               const FloverLengths& lengths);

/// The figures of one policy under one load.
struct PolicyFigures {
  std::string policy;
  double total = 0;              ///< seconds from the first arrival to the last end
  double tokens_per_second = 0;  ///< output tokens a second
  double latency = 0;            ///< mean, in seconds
  double first_token = 0;        ///< mean, in seconds
  std::size_t iterations = 0;    ///< steps of all devices
  double batch = 0;              ///< mean sequences of a step
  std::size_t threads = 0;
};
[[nodiscard]] PolicyFigures figures_of(const Config& config, const EngineRun& run);
[[nodiscard]] boost::json::object to_json(const PolicyFigures& figures);
/// Returns the median of each figure of the rounds of one policy, of which there is at least one.
[[nodiscard]] PolicyFigures median_of(std::span<const PolicyFigures> rounds);

/// Returns a configuration with as many instances of the model as there are requests, but no more
/// than `setup` has rows. The paper compares with such instances (FasterTransformer). Only the host
/// has instances.
[[nodiscard]] Config instances_for(const RecipeSetup& setup, std::int32_t requests);
[[nodiscard]] bool has_instances(const RecipeSetup& setup);

}  // namespace weft::measure
