#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft/grammar/byte_dfa.h"
#include "weft/grammar/schema/json_parts.h"

namespace weft::grammar {

/// A decimal divisor as `whole` / 10^`fraction_digits`: 2.50 is 25 / 10.
struct Divisor {
  std::uint64_t whole = 1;
  std::uint32_t fraction_digits = 0;
};

/// The largest supported `Divisor::whole`. For it, grouping the remainders takes some milliseconds.
inline constexpr std::uint64_t kLargestDivisor = 10'000;

/// Reads a divisor from decimal_text(). With `whole` it returns the whole number whose multiples
/// are the integers among the divisor's multiples. Returns nothing for a divisor above
/// kLargestDivisor.
[[nodiscard]] std::optional<Divisor> read_divisor(const std::string& decimal, bool whole);

/// Returns the multiples of a divisor between two bounds. They are written without an exponent and
/// with at most Divisor::fraction_digits digits after the point. Numbers without a bound have at
/// most kMaxWholeDigits digits before the point, and fewer where the automaton would be too large;
/// a bound may require more. Returns nothing where the automaton still has too many states. An
/// automaton without an accepting state means that there is no such multiple.
[[nodiscard]] std::optional<ByteDfa> multiples_between(const Divisor& divisor,
                                                       const std::optional<NumberBound>& low,
                                                       const std::optional<NumberBound>& high);

}  // namespace weft::grammar
