#pragma once

#include <string_view>

#include "weft/core/error/error.h"
#include "weft/text/jinja/syntax/ast.h"

namespace weft::jinja {

/// Parses a normalized source (normalize_newlines) into a tree that does not refer to it. Linear in
/// time. kBadTemplate for sources that Jinja's own parser and compiler refuse, and for include,
/// import, extends and block, which are not supported; kTemplateLimit when the source nests deeper
/// than kMaxNesting. Details begin with "line:column: ".
[[nodiscard]] Result<ast::Block> parse(std::string_view source);

}  // namespace weft::jinja
