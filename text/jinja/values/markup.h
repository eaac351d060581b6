#pragma once

#include <string_view>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// Appends with & < > ' and " replaced by what markupsafe has for them.
void append_html(TextBuilder& out, std::string_view text);
/// Appends, escaped when it goes into a markup and is none.
void append_text(TextBuilder& out, const Text& text, bool into_markup);

}  // namespace weft::jinja
