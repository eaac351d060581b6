#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "weft/config/config.h"
#include "weft/measure/engine/engine_load.h"
#include "weft/measure/engine/measured_model.h"
#include "weft/measure/load/load.h"
#include "weft/measure/report/report.h"

namespace weft::measure {

/// The model, configuration and scale with which an experiment is carried out.
struct RecipeSetup {
  const MeasuredModel& model;
  /// Gives device, threads, rows and memory; a recipe sets policy, layout and admission.
  Config config{};
  std::uint64_t seed = 1;
  double scale = 1;          ///< factor on the loads' sizes; 0.1 quickly shows that a recipe works
  std::int32_t repeats = 3;  ///< rounds of recipes that compare policies, and of flover-shuffle
  std::function<void(std::string_view part)> begin_part{};  ///< called before each part
  /// called within a part
  std::function<void(std::size_t done, std::size_t of)> progress{};
  /// Called with a sentence about a fact that makes the report's figures doubtful.
  std::function<void(const std::string& what)> warn{};
  const std::atomic<bool>* stop = nullptr;
};

/// An experiment of a paper, or of Weft's own, by name. run() throws boost::system::system_error
/// with the errors of run_engine(), and with operation_canceled when it was stopped.
struct Recipe {
  std::string_view name;
  std::string_view what;  ///< a line for --help
  Report (*run)(const RecipeSetup& setup);
};

/// Returns all recipes, in the order of their names.
[[nodiscard]] std::span<const Recipe> recipes() noexcept;
/// Returns nullptr when no recipe has this name.
[[nodiscard]] const Recipe* find_recipe(std::string_view name) noexcept;

}  // namespace weft::measure
