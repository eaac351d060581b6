#pragma once

#include <string>
#include <string_view>

#include "weft/core/error/error.h"

namespace weft {

/// Rewrites a pattern in the syntax of tokenizer.json (Oniguruma's, Unicode) for PCRE2 with UTF,
/// UCP and MULTILINE. These parts differ and are translated: \s and \S (White_Space only), \w, \W,
/// \b and \B, \h and \H (hexadecimal digits), \uHHHH, {,n}, the option m (which is PCRE2's s), long
/// property names, classes within classes and their intersections ("[a-z&&[^b]]").
/// kUnknownTokenizerPart for a part without a counterpart.
[[nodiscard]] Result<std::string> pcre2_pattern(std::string_view oniguruma);

}  // namespace weft
