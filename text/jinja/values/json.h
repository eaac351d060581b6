#pragma once

#include <boost/json/value.hpp>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// The value of a JSON value, whose strings it refers to. Objects keep their order, numbers beyond
/// int64 become floats. Fails with kTemplateLimit when it is nested deeper than kMaxDataDepth, with
/// kTemplateFailed when a string is not UTF-8.
[[nodiscard]] Value from_json(Run& run, const boost::json::value& json);

/// The same for a value that a client wrote: enters its strings and keys into run.client(), once,
/// however often the value is used.
[[nodiscard]] Value from_client_json(Run& run, const boost::json::value& json);

}  // namespace weft::jinja
