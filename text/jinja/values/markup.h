#pragma once

#include <string_view>

#include "weft/text/jinja/run.h"
#include "weft/text/jinja/values/value.h"

namespace weft::jinja {

/// Appends the text with & < > ' and " replaced as in markupsafe.
void append_html(TextBuilder& out, std::string_view text);
/// Appends the text, escaped when the target is a markup and the text is none.
void append_text(TextBuilder& out, const Text& text, bool into_markup);

}  // namespace weft::jinja
