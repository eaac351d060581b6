#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/gpu/training_work.h"
#include "weft/measure/engine/engine_load.h"
#include "weft/measure/engine/policy_list.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/recipe.h"

/// The parts that several recipes share.
namespace weft::measure {

/// Runs a load for a recipe. Throws the errors of Recipe::run() and require_served(). `wrap` and
/// `training` are as in EngineRunOptions.
[[nodiscard]] EngineRun play(const RecipeSetup& setup, std::string_view part, const Config& config,
                             const Load& load, const DeviceWrap& wrap = {},
                             const std::shared_ptr<TrainingWork>& training = {});

/// A run of each load, on one engine: the model is loaded once.
struct NamedLoad {
  std::string part;
  Load load;
};
[[nodiscard]] std::vector<EngineRun> play_in_turn(const RecipeSetup& setup, const Config& config,
                                                  const std::vector<NamedLoad>& loads);

/// Whether all of the configuration's devices are the host. There, recipes that wait only for the
/// device use shorter lengths, and only the host has instances. `auto` has been settled before.
[[nodiscard]] bool runs_on_host(const Config& config);

/// Returns the setup's configuration under another policy.
[[nodiscard]] Config with_policy(const RecipeSetup& setup, BatchPolicy policy);

/// Returns "round 2, " where there are several rounds; nothing for a single round.
[[nodiscard]] std::string round_part(const RecipeSetup& setup, std::int32_t round);

/// Returns `count` times setup.scale, and at least `least`.
[[nodiscard]] std::int32_t scaled(const RecipeSetup& setup, std::int32_t count,
                                  std::int32_t least = 1);

/// The time of a repeated request.
struct AloneTime {
  double seconds = 0;
  bool has_settled = false;  ///< whether two repetitions in a row took the same time within 10 %
};
/// Returns the median of the seconds, which are in their order. It begins with the first two in a
/// row that agree within 10 %, because earlier ones warmed up. Where no two agree, it is the median
/// of the second half.
[[nodiscard]] AloneTime settled_time(std::span<const double> seconds);

/// Returns the seconds of one request on an idle engine: settled_time() of eight requests. Warns by
/// setup.warn where they do not settle.
[[nodiscard]] double alone_seconds(const RecipeSetup& setup, std::int32_t prompt,
                                   std::int32_t output);

/// Returns the tokens over time as (seconds, tokens), from (0, 0) on. It has at most 512 points,
/// spread evenly over the tokens, and always the last token's.
[[nodiscard]] std::vector<std::pair<double, double>> tokens_over_time(
    const std::vector<Outcome>& outcomes);

/// Begins a report with the facts of its setup.
[[nodiscard]] Report begin_report(const RecipeSetup& setup, std::string title, std::string summary);

/// Returns the number of threads that the host computes with.
[[nodiscard]] std::string threads_text(const Config& config);

/// Makes a figure without curves.
[[nodiscard]] Figure make_figure(std::string title, std::string caption, Axis x, Axis y);
[[nodiscard]] Axis linear(std::string title);
[[nodiscard]] Axis logarithmic(std::string title);

/// "12.3 ms", "4.56 s": three digits and a unit.
[[nodiscard]] std::string seconds_text(double seconds);
/// "3.10x"
[[nodiscard]] std::string times_text(double ratio);
/// Returns "3.10x [2.9x, 3.2x]": the median, the least and the greatest of several rounds; for one
/// round its value alone.
[[nodiscard]] std::string with_range(const std::vector<double>& values,
                                     std::string (*text)(double value));

}  // namespace weft::measure
