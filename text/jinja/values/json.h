#pragma once

#include <boost/json/value.hpp>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// Converts a JSON value; the result refers to its strings. Objects keep their order, numbers
/// beyond int64 become floats. Fails with kTemplateLimit when the value is nested deeper than
/// kMaxDataDepth, with kTemplateFailed when a string is not UTF-8.
[[nodiscard]] Value from_json(Run& run, const boost::json::value& json);

/// Converts a value that a client wrote. It also enters the value's strings and keys into
/// run.client(), once, however often the value is used.
[[nodiscard]] Value from_client_json(Run& run, const boost::json::value& json);

}  // namespace weft::jinja
