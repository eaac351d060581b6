#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/config/config.h"
#include "weft/core/error/error.h"

namespace weft::measure {

/// Returns the policy's name in reports: "fusion", "window:50", "static", "4 instances".
[[nodiscard]] std::string policy_text(const Config& config);

/// Returns `config` under each policy of a list such as "fusion,window:50,static,instances:8". A
/// window's milliseconds and the number of instances may be left out; then the configuration's are
/// used. kBadLoad names the wrong part.
[[nodiscard]] Result<std::vector<Config>> with_policies(const Config& config,
                                                        std::string_view list);

}  // namespace weft::measure
