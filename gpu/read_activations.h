#pragma once

#include "weft/gpu/model_device.h"
#include "weft/gpu/plan_reader.h"

namespace weft {

/// Gives the numbers of the step that `device` ran last to its sequences' ActivationReaders. To be
/// called after all choices have been told: logits computed here overwrite the step's logits.
void read_activations(PlanReader& plan, ModelDevice& device, StepResult& result);

/// To be called on the other ranks that share the head: computes their part of the logits.
void follow_activations(const PlanReader& plan, ModelDevice& device);

}  // namespace weft
