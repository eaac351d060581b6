#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/grammar/grammar_builder.h"

namespace weft::grammar {

/// The parts of JSON texts (RFC 8259). Numbers are bounded, so that they end and fit their readers:
/// at most 19 digits before the point, 17 behind it, and 2 of an exponent. White space may stand
/// where JSON writers put it: behind brackets, commas and colons and before a closing bracket. It
/// is a blank or a line break with indentation, so that a model that has lost the thread does not
/// write white space for ever. There is none around the text, and nothing but the separators where
/// the builder's JsonSpacing says so.
struct JsonParts {
  using Part = GrammarBuilder::Part;

  explicit JsonParts(GrammarBuilder& builder);

  Part space;  ///< white space, or none, between two tokens
  Part comma;  ///< with the white space around it; so is the colon
  Part colon;
  Part character;  ///< of a string
  Part string;
  Part number;
  Part integer;
  Part value;
  Part object;
  Part array;
};

inline constexpr std::uint32_t kMaxWholeDigits = 19;
inline constexpr std::uint32_t kMaxFractionDigits = 17;
/// Digits before the point of numbers with an upper bound: enough for 64 bits.
inline constexpr std::uint32_t kMaxBoundDigits = 20;

/// A number that a schema names, as decimal digits: "-12.5", without an exponent.
[[nodiscard]] std::string decimal_text(const boost::json::value& number);

/// A given JSON value, with white space between its tokens.
[[nodiscard]] GrammarBuilder::Part given_value(GrammarBuilder& builder,
                                               const boost::json::value& value);

/// The text of a value that has no others inside: a string with its quotation marks, a number, ...
/// in the builder's form.
[[nodiscard]] std::string scalar_text(const GrammarBuilder& builder,
                                      const boost::json::value& value);

/// A bound of numbers, as decimal_text() writes it.
struct NumberBound {
  std::string decimal;
  bool excluded = false;
};

[[nodiscard]] bool is_negative(const NumberBound& bound);

/// Numbers between two bounds, without exponent, with at most so many digits behind the point. They
/// have at most kMaxWholeDigits digits before the point, kMaxBoundDigits below an upper bound, and
/// more where the lower bound asks for more.
[[nodiscard]] GrammarBuilder::Part number_between(GrammarBuilder& builder,
                                                  const std::optional<NumberBound>& low,
                                                  const std::optional<NumberBound>& high,
                                                  std::uint32_t fraction_digits);

}  // namespace weft::grammar
