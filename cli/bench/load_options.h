#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/measure/load/load.h"
#include "weft/measure/load/outcome.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace weft::cli {

/// Flags that describe a load.
struct LoadOptions {
  std::optional<measure::Process> arrivals{};  ///< default: poisson with a rate, else at-once
  std::optional<double> rate{};
  double burstiness = 0.25;
  std::optional<std::size_t> requests{};  ///< default: 100, or all of a trace
  std::string input = "128";
  std::string output = "128";
  std::int32_t concurrency = 0;
  std::uint64_t seed = 0;
  std::string trace;  ///< a file with a load; empty: the load is drawn
  double time_scale = 1;
  std::int32_t max_input = 0;
  std::int32_t max_output = 0;
  double slo_first_token = 0;  ///< milliseconds, as the next two
  double slo_per_token = 0;
  double slo_whole = 0;
};

/// Adds the flags. `options` must live as long as `command`.
void add_load_options(CLI::App& command, LoadOptions& options);

/// Draws the load, or reads the trace. kBadLoad names the flag; errors of read_trace().
[[nodiscard]] Result<measure::Load> load_of(const LoadOptions& options);
[[nodiscard]] measure::Slo slo_of(const LoadOptions& options);

/// Says for a report how the load was made.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> load_facts(
    const LoadOptions& options);

}  // namespace weft::cli
