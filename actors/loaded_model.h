#pragma once

#include <memory>
#include <vector>

#include "weft/actors/served_model.h"
#include "weft/config/config.h"
#include "weft/core/error/error.h"
#include "weft/gpu/model_device.h"
#include "weft/gpu/step_device.h"
#include "weft/model/open_model.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// A model and what runs it: one device for each replica of a pipeline.
struct LoadedModel {
  ServedModel model;
  std::vector<std::shared_ptr<StepDevice>> devices;
};

/// Measures the device, takes its memory and loads a model that was opened. Only device, memory and
/// policy of `config` count, not the model's path. kBadRequest for a model that chooses no tokens;
/// errors of load_step_devices().
[[nodiscard]] Result<LoadedModel> load_served(const OpenedModel& opened, Tokenizer tokenizer,
                                              const Config& config,
                                              const LoadProgress& progress = {});

}  // namespace weft
