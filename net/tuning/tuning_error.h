#pragma once

#include "weft/core/error/error.h"
#include "weft/net/api/fields/api_error.h"

namespace weft {

/// Returns the error of a call about files and jobs, for its client. A disk that takes no more is
/// 507, other errors of the disk 500; neither has the detail, which would name a path of the
/// server.
[[nodiscard]] ApiError tuning_error(const Error& error);

/// Returns the error of a server without a folder for fine-tuning. It names the key.
[[nodiscard]] ApiError no_fine_tuning();

}  // namespace weft
