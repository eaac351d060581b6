#pragma once

#include <boost/system/error_code.hpp>
#include <exception>

#include "weft/core/error/error.h"

namespace weft {

/// An exception as an error. What Result::value() threw gets its detail back; another
/// boost::system::system_error keeps its code; of all others it is `otherwise`, and what they say.
[[nodiscard]] Error caught_error(const std::exception& failure,
                                 boost::system::error_code otherwise);

}  // namespace weft
