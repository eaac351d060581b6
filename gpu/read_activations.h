#pragma once

#include "weft/gpu/model_device.h"
#include "weft/gpu/plan_reader.h"

namespace weft {

/// Passes the numbers of the step that `device` ran last to its sequences' ActivationReaders. Call
/// it after all results are stored: logits computed here overwrite the step's logits.
void read_activations(PlanReader& plan, ModelDevice& device, StepResult& result);

/// Call it on the other ranks that share the head: it computes their part of the logits.
void follow_activations(const PlanReader& plan, ModelDevice& device);

}  // namespace weft
