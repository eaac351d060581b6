#pragma once

#include <string_view>

#include "weft/core/error/error.h"
#include "weft/grammar/grammar_builder.h"

namespace weft::grammar {

struct RegexOptions {
  /// Whether the text stands in a JSON string. Characters that must be escaped then are, by their
  /// shortest escape.
  bool in_json = false;
  /// Whether the expression may match a part of the text, as JSON schema's `pattern` does, except
  /// where ^ and $ forbid it.
  bool searches = false;
  bool ignores_case = false;  ///< ignores the case of ASCII letters
  bool dot_is_all = false;    ///< "." is any character, line breaks too
};

/// Reads a regular expression in the syntax of ECMAScript, Python and Rust, as far as it is
/// regular: characters, ".", classes, \d \w \s and their opposites, \t \n \r \f \v \0 \xHH \uHHHH
/// \u{...}, groups of every kind except lookaround, |, * + ? {n} {n,} {n,m}, each with or without a
/// "?" after it, ^ and $ at the ends of the whole or of its alternatives. \d, \w and \s are the
/// ASCII classes; their opposites exclude all characters that any of these languages counts to the
/// class. kBadRegex names the byte and the mistake, or the unsupported part: lookaround, back
/// references, word boundaries, \p{...} and flags inside.
[[nodiscard]] Result<GrammarBuilder::Part> read_regex(GrammarBuilder& builder,
                                                      std::string_view pattern,
                                                      const RegexOptions& options = {});

}  // namespace weft::grammar
