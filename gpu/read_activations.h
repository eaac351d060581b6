#pragma once

#include "weft/gpu/model_device.h"
#include "weft/gpu/plan_reader.h"

namespace weft {

/// Gives the step that `device` has run last to the ActivationReaders of its sequences. To be
/// called when all choices have been told: what the device computes here overwrites their logits.
void read_activations(PlanReader& plan, ModelDevice& device, StepResult& result);

/// To be called on the other ranks that share the head: computes their part of the logits.
void follow_activations(const PlanReader& plan, ModelDevice& device);

}  // namespace weft
