#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// The reasons to refuse a description of structured output.
enum class GrammarErrc {
  /// The text is no valid JSON schema; the detail names the place in the schema.
  kBadSchema = 1,
  /// A JSON schema has a part that cannot be enforced while tokens are chosen; the detail names the
  /// place in the schema and the keyword.
  kUnsupportedSchema,
  /// A regular expression has an error, or a part that is not regular; the detail names the byte.
  kBadRegex,
  /// A grammar has an error; the detail names the line.
  kBadGrammar,
  /// The description is larger, or leaves more open at once, than a server can afford.
  kTooComplex,
  /// The model has no token that ends an output, so an output could not end.
  kNoEndToken,
  /// The compiled grammars of the model have used up their memory. Try again later.
  kNoRoom,
};

/// The category of these errors, and how one becomes a boost::system::error_code.
[[nodiscard]] const TableCategory& grammar_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(GrammarErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::GrammarErrc> : std::true_type {};
