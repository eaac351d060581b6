#pragma once

#include <boost/system/error_code.hpp>
#include <exception>

#include "weft/core/error/error.h"

namespace weft {

/// Turns an exception into an error. What Result::value() threw gets its detail back; another
/// boost::system::system_error keeps its code; any other becomes `otherwise` with the exception's
/// text.
[[nodiscard]] Error caught_error(const std::exception& failure,
                                 boost::system::error_code otherwise);

}  // namespace weft
