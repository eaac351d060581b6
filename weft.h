#pragma once

/// Weft for applications: all that a program which embeds it needs, in one include.
///
/// Link with the CMake target weft::weft.

#include "weft/actors/engine/engine.h"        // IWYU pragma: export
#include "weft/actors/engine/token_stream.h"  // IWYU pragma: export
#include "weft/actors/failure.h"              // IWYU pragma: export
#include "weft/actors/messages.h"             // IWYU pragma: export
#include "weft/actors/pipeline.h"             // IWYU pragma: export
#include "weft/actors/request/request.h"      // IWYU pragma: export
#include "weft/config/config.h"               // IWYU pragma: export
#include "weft/core/actor/actor.h"            // IWYU pragma: export
#include "weft/core/actor/actor_system.h"     // IWYU pragma: export
#include "weft/core/error/error.h"            // IWYU pragma: export
#include "weft/core/gate.h"                   // IWYU pragma: export
#include "weft/core/metrics.h"                // IWYU pragma: export
#include "weft/core/prometheus.h"             // IWYU pragma: export
#include "weft/core/time/steady_clock.h"      // IWYU pragma: export
#include "weft/core/time/virtual_clock.h"     // IWYU pragma: export
#include "weft/gpu/device_info.h"             // IWYU pragma: export
