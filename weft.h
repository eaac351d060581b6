#pragma once

/// Weft for applications: all that a program which embeds it needs, in one include.
///
/// Link with the CMake target weft::weft. What this header names is public, and with it whatever
/// those headers include: the Engine with its requests, streams, results and errors, and the
/// Stepper; the Config and its errors; the actor runtime and the two messages for actors of the
/// application's own; and what a StepDevice of the application's own is made of. No other header is
/// installed.

#include "weft/actors/engine/engine.h"               // IWYU pragma: export
#include "weft/actors/engine/load_engine.h"          // IWYU pragma: export
#include "weft/actors/engine/token_stream.h"         // IWYU pragma: export
#include "weft/actors/engine_error.h"                // IWYU pragma: export
#include "weft/actors/failure.h"                     // IWYU pragma: export
#include "weft/actors/loading/run_rank_process.h"    // IWYU pragma: export
#include "weft/actors/loading/served_model.h"        // IWYU pragma: export
#include "weft/actors/models/model_host.h"           // IWYU pragma: export
#include "weft/actors/models/model_list.h"           // IWYU pragma: export
#include "weft/actors/pipeline.h"                    // IWYU pragma: export
#include "weft/actors/preprocess/preprocess_pool.h"  // IWYU pragma: export
#include "weft/actors/request/prompt_logprobs.h"     // IWYU pragma: export
#include "weft/actors/request/prompt_tokens.h"       // IWYU pragma: export
#include "weft/actors/request/request.h"             // IWYU pragma: export
#include "weft/actors/request_messages.h"            // IWYU pragma: export
#include "weft/actors/stepper/stepper.h"             // IWYU pragma: export
#include "weft/actors/training/training_task.h"      // IWYU pragma: export
#include "weft/config/config.h"                      // IWYU pragma: export
#include "weft/config/config_error.h"                // IWYU pragma: export
#include "weft/config/models_config.h"               // IWYU pragma: export
#include "weft/core/actor/actor.h"                   // IWYU pragma: export
#include "weft/core/actor/actor_system.h"            // IWYU pragma: export
#include "weft/core/error/error.h"                   // IWYU pragma: export
#include "weft/core/gate.h"                          // IWYU pragma: export
#include "weft/core/metrics.h"                       // IWYU pragma: export
#include "weft/core/prometheus.h"                    // IWYU pragma: export
#include "weft/core/time/steady_clock.h"             // IWYU pragma: export
#include "weft/core/time/virtual_clock.h"            // IWYU pragma: export
#include "weft/gpu/activation_reader.h"              // IWYU pragma: export
#include "weft/gpu/device_error.h"                   // IWYU pragma: export
#include "weft/gpu/device_info.h"                    // IWYU pragma: export
#include "weft/gpu/memory/memory_budget.h"           // IWYU pragma: export
#include "weft/gpu/plan.h"                           // IWYU pragma: export
#include "weft/gpu/step_device.h"                    // IWYU pragma: export
#include "weft/gpu/training_work.h"                  // IWYU pragma: export
#include "weft/grammar/grammar_builder.h"            // IWYU pragma: export
#include "weft/grammar/grammar_error.h"              // IWYU pragma: export
#include "weft/grammar/structured_output.h"          // IWYU pragma: export
#include "weft/model/model_error.h"                  // IWYU pragma: export
#include "weft/sampling/logit_processor.h"           // IWYU pragma: export
#include "weft/sampling/sampling_error.h"            // IWYU pragma: export
#include "weft/sampling/sampling_params.h"           // IWYU pragma: export
#include "weft/text/text_error.h"                    // IWYU pragma: export
