#pragma once

#include <memory>
#include <string_view>

#include "weft/cli/bench/shape_options.h"
#include "weft/cli/config_options.h"
#include "weft/config/config.h"
#include "weft/measure/engine/measured_model.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace weft::cli {

/// What an engine that is measured in this process is made of: MODEL, or random weights of a shape,
/// and every key of an engine's configuration as a flag.
struct MeasuredOptions {
  ShapeOptions shape;
  std::unique_ptr<ConfigOptions> config{};
};

/// Adds them; `options` lives as long as `command`.
void add_measured_options(CLI::App& command, MeasuredOptions& options);

/// What file, environment and flags say of the engine; leaves with fail() when they are wrong.
[[nodiscard]] Config measured_config(std::string_view verb, const MeasuredOptions& options);

/// The model of the configuration, or of the shape; `otherwise` is the shape when neither is given,
/// and where it is empty that fails.
[[nodiscard]] measure::MeasuredModel open_measured(std::string_view verb, const Config& config,
                                                   const MeasuredOptions& options,
                                                   std::string_view otherwise = {});

}  // namespace weft::cli
