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

/// The options of an engine that is measured in this process: MODEL, or random weights of a shape,
/// and every key of an engine's configuration as a flag.
struct MeasuredOptions {
  ShapeOptions shape;
  std::unique_ptr<ConfigOptions> config{};
};

/// Adds the options. `options` must live as long as `command`.
void add_measured_options(CLI::App& command, MeasuredOptions& options);

/// The engine's configuration from file, environment and flags; leaves with fail() when they are
/// wrong.
[[nodiscard]] Config measured_config(std::string_view verb, const MeasuredOptions& options);

/// Opens the configuration's model, or makes one of the shape. When neither is given it takes the
/// shape `otherwise`, or fails where that is empty.
[[nodiscard]] measure::MeasuredModel open_measured(std::string_view verb, const Config& config,
                                                   const MeasuredOptions& options,
                                                   std::string_view otherwise = {});

/// Replaces the partition "auto" by the chosen one, and says on standard error why it was chosen;
/// leaves with fail() where no partition is possible.
void settle_devices(std::string_view verb, const OpenedModel& model, Config& config);

}  // namespace weft::cli
