#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/grammar/grammar_builder.h"

namespace weft::grammar {

/// The parts of JSON texts (RFC 8259). Numbers are bounded, so that they end and readers can hold
/// them: at most 19 digits before the point, 17 after it, and 2 in an exponent. White space may
/// stand after brackets, commas and colons and before a closing bracket, where JSON writers put it.
/// It is a space, or a line break with indentation, so that a model that has lost its way does not
/// write white space for ever. There is no white space around the text, and only the separators
/// where the builder's JsonSpacing says so.
struct JsonParts {
  using Part = GrammarBuilder::Part;

  explicit JsonParts(GrammarBuilder& builder);

  Part space;  ///< optional white space between two tokens
  Part comma;  ///< a comma with the white space around it; so is the colon
  Part colon;
  Part character;  ///< a character of a string
  Part string;
  Part number;
  Part integer;
  Part value;
  Part object;
  Part array;
};

inline constexpr std::uint32_t kMaxWholeDigits = 19;
inline constexpr std::uint32_t kMaxFractionDigits = 17;
/// Digits before the point of numbers with an upper bound; enough for 64 bits.
inline constexpr std::uint32_t kMaxBoundDigits = 20;

/// Returns a number of a schema as decimal digits: "-12.5", without an exponent.
[[nodiscard]] std::string decimal_text(const boost::json::value& number);

/// Returns a part for a given JSON value, with white space between its tokens.
[[nodiscard]] GrammarBuilder::Part given_value(GrammarBuilder& builder,
                                               const boost::json::value& value);

/// Returns the text of a value without inner values, in the builder's form: a string with its
/// quotation marks, a number, ...
[[nodiscard]] std::string scalar_text(const GrammarBuilder& builder,
                                      const boost::json::value& value);

/// A bound of numbers, in the form of decimal_text().
struct NumberBound {
  std::string decimal;
  bool excluded = false;
};

[[nodiscard]] bool is_negative(const NumberBound& bound);

/// Returns numbers between two bounds, without exponent, with at most the given number of digits
/// after the point. They have at most kMaxWholeDigits digits before the point, or kMaxBoundDigits
/// below an upper bound; they have more where the lower bound requires it.
[[nodiscard]] GrammarBuilder::Part number_between(GrammarBuilder& builder,
                                                  const std::optional<NumberBound>& low,
                                                  const std::optional<NumberBound>& high,
                                                  std::uint32_t fraction_digits);

}  // namespace weft::grammar
