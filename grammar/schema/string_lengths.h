#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/grammar/forms/regex.h"
#include "weft/grammar/grammar_builder.h"

namespace weft::grammar {

/// The number of characters that a text may have.
struct TextLength {
  std::uint64_t least = 0;
  std::uint64_t most = kNoBound;
};

/// Returns the texts of a regular expression (in JSON, or without a backslash) with such a length.
/// Where they need too many states, only texts of at most some hundred characters. Returns nothing
/// where these still need too many states or too much work.
[[nodiscard]] std::optional<GrammarBuilder::Part> counted_part(GrammarBuilder& builder,
                                                               GrammarBuilder::Part contents,
                                                               TextLength length);

/// Returns the texts with such a length of a format that format_regex() knows; nothing as above.
[[nodiscard]] std::optional<GrammarBuilder::Part> format_part(GrammarBuilder& builder,
                                                              std::string_view format,
                                                              TextLength length,
                                                              const RegexOptions& options);

}  // namespace weft::grammar
