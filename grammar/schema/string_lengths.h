#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/grammar/forms/regex.h"
#include "weft/grammar/grammar_builder.h"

namespace weft::grammar {

/// How many characters a text has.
struct TextLength {
  std::uint64_t least = 0;
  std::uint64_t most = kNoBound;
};

/// Of a regular expression's texts, in JSON or without a backslash, those of such a length. Where
/// that takes too many states they are at most some hundred characters long. Nothing where it takes
/// too many states or too much work all the same.
[[nodiscard]] std::optional<GrammarBuilder::Part> counted_part(GrammarBuilder& builder,
                                                               GrammarBuilder::Part contents,
                                                               TextLength length);

/// The texts of a format that format_regex() knows, of such a length; nothing as counted_part().
[[nodiscard]] std::optional<GrammarBuilder::Part> format_part(GrammarBuilder& builder,
                                                              std::string_view format,
                                                              TextLength length,
                                                              const RegexOptions& options);

}  // namespace weft::grammar
