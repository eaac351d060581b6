#pragma once

#include <string_view>

#include "weft/core/error/error.h"
#include "weft/grammar/grammar_builder.h"

namespace weft::grammar {

struct RegexOptions {
  /// Characters stand in a JSON string: those that must be escaped are, by their shortest escape.
  bool in_json = false;
  /// It may match a part of the text, as JSON schema's `pattern` does, but where ^ and $ say no.
  bool searches = false;
  bool ignores_case = false;  ///< of ASCII letters
  bool dot_is_all = false;    ///< "." is any character, line breaks too
};

/// Reads a regular expression as ECMAScript, Python and Rust write what is regular: characters,
/// ".", classes, \d \w \s and their opposites, \t \n \r \f \v \0 \xHH \uHHHH \u{...}, groups of
/// every kind that does not look around, |, * + ? {n} {n,} {n,m} with or without a "?" behind, ^
/// and $ at the ends of the whole or of its alternatives. \d, \w and \s are those of ASCII; their
/// opposites leave out what any of these languages counts among them. kBadRegex names the byte:
/// what is wrong, or lookaround, back references, word boundaries, \p{...} and flags inside.
[[nodiscard]] Result<GrammarBuilder::Part> read_regex(GrammarBuilder& builder,
                                                      std::string_view pattern,
                                                      const RegexOptions& options = {});

}  // namespace weft::grammar
