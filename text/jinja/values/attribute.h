#pragma once

#include <string_view>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// Returns object.name: a method or attribute first, then the key of a dict. Methods that begin
/// with an underscore or change their object are undefined here, so calling them fails.
Value attribute(Run& run, const Value& object, std::string_view name);

/// Returns object[key]: an element first, then, for a string, a method or attribute.
Value item(Run& run, const Value& object, const Value& key);

/// Returns object[start:stop:step]; a part that was left out is none. Fails where object[key] is
/// undefined.
Value slice(Run& run, const Value& object, const Value& start, const Value& stop,
            const Value& step);

/// Returns the value at a path in the form of the filters: "a.b.0", or a number, or none for the
/// value itself.
Value attribute_path(Run& run, const Value& object, const Value& path);

}  // namespace weft::jinja
