#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/config/config.h"
#include "weft/core/error/error.h"

namespace weft::measure {

/// What reports call the policy: "fusion", "window:50", "static", "4 instances".
[[nodiscard]] std::string policy_text(const Config& config);

/// `config` under each policy of a list, "fusion,window:50,static,instances:8": a window's
/// milliseconds and the number of instances may be left out, then they are the configuration's.
/// kBadLoad with the part that is wrong.
[[nodiscard]] Result<std::vector<Config>> with_policies(const Config& config,
                                                        std::string_view list);

}  // namespace weft::measure
