#include "weft/cli/bench/measured_options.h"

#include <utility>

#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/config/keys/config_schema.h"
#include "weft/config/keys/engine_keys.h"
#include "weft/gpu/ranks/settle_partition.h"

namespace weft::cli {

void add_measured_options(CLI::App& command, MeasuredOptions& options) {
  options.config = std::make_unique<ConfigOptions>(command, engine_schema());
  add_shape_options(command, options.shape);
}

Config measured_config(std::string_view verb, const MeasuredOptions& options) {
  const ConfigDraft draft = value_or_fail(verb, options.config->draft());
  return value_or_fail(verb, draft.finish()).engine;
}

measure::MeasuredModel open_measured(std::string_view verb, const Config& config,
                                     const MeasuredOptions& options, std::string_view otherwise) {
  if (!config.model.empty()) {
    if (!options.shape.name.empty()) fail(verb, "either MODEL or --shape, not both");
    expect_no_shape_options(verb, options.shape);
    return value_or_fail(verb, measure::open_measured_model(config.model, config.spec,
                                                            config.weights, config.adapter));
  }
  if (!config.adapter.empty()) fail(verb, "--adapter: only with MODEL");
  ShapeOptions wanted = options.shape;
  if (wanted.name.empty()) wanted.name = otherwise;
  if (wanted.name.empty()) {
    fail(verb, "give either MODEL or --shape, which is one of " + llama_shape_names());
  }
  NamedShape shape = shape_of(verb, wanted, config.weights);
  return measure::make_random_model(std::move(shape.name), shape.shape);
}

void settle_devices(std::string_view verb, const OpenedModel& model, Config& config) {
  if (!is_auto_partition(config.partition)) return;
  CapacityWishes wishes;
  wishes.memory_fraction = config.memory_fraction;
  wishes.memory_bytes = config.memory_bytes;
  wishes.rows = config.max_rows;
  wishes.context = config.max_context;
  config.partition = value_or_fail(verb, settled_device(model, config.partition, wishes,
                                                        config.kv_dtype, !config.tuning.empty()));
}

}  // namespace weft::cli
