#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/grammar/schema/json_parts.h"
#include "weft/grammar/schema/json_schema.h"
#include "weft/grammar/schema/multiples.h"

namespace weft::grammar {
namespace {

using Value = boost::json::value;

/// Returns the digits after the point: more than kMaxFractionDigits where two bounds are so close
/// that no shorter number lies between them.
std::uint32_t fraction_digits_between(const std::optional<NumberBound>& low,
                                      const std::optional<NumberBound>& high) {
  if (!low || !high) return kMaxFractionDigits;
  const auto cut = [](const std::string& decimal) {
    const std::size_t point = std::min(decimal.find('.'), decimal.size());
    return decimal.substr(0, point + 1 + kMaxFractionDigits);
  };
  if (cut(low->decimal) != cut(high->decimal)) return kMaxFractionDigits;
  const std::size_t longest = std::max(low->decimal.size(), high->decimal.size());
  return static_cast<std::uint32_t>(std::max<std::size_t>(longest, kMaxFractionDigits) + 1);
}

/// Returns the arguments of multiples() as text, the key of its result.
std::string key_of_multiples(const std::string& divisor, bool whole,
                             const std::optional<NumberBound>& low,
                             const std::optional<NumberBound>& high) {
  std::string key = (whole ? "i" : "n") + divisor;
  for (const auto& bound : {low, high}) {
    key += ' ';
    if (bound) key += (bound->excluded ? "x" : "") + bound->decimal;
  }
  return key;
}

/// Returns the numbers in kExcept, ascending.
std::vector<std::string> excluded_numbers(const boost::json::object& object) {
  std::vector<Value> numbers;
  if (const Value* const except = object.if_contains(kExcept)) {
    for (const Value& one : except->get_array()) {
      const bool is_known = std::ranges::find(numbers, one) != numbers.end();
      if (one.is_number() && !is_known) numbers.push_back(one);
    }
  }
  std::ranges::sort(numbers, {}, [](const Value& one) { return one.to_number<double>(); });
  std::vector<std::string> decimals;
  for (const Value& one : numbers) decimals.push_back(decimal_text(one));
  return decimals;
}

}  // namespace

std::optional<SchemaReader::Part> SchemaReader::multiples(const Value& multiple, bool whole,
                                                          const std::optional<NumberBound>& low,
                                                          const std::optional<NumberBound>& high,
                                                          const std::string& path,
                                                          std::uint32_t& fraction_digits) {
  const double value = multiple.is_number() ? multiple.to_number<double>() : 0;
  if (!(value > 0) || !std::isfinite(value)) {
    fail(path, "must be a number above 0", false);
    return std::nullopt;
  }
  const std::string decimal = decimal_text(multiple);
  const auto divisor = read_divisor(decimal, whole);
  if (divisor && divisor->whole == 1) {
    // Rounding decides which floating-point numbers are multiples, so all numbers with few enough
    // digits are accepted.
    fraction_digits = divisor->fraction_digits;
    return std::nullopt;
  }
  const auto [found, is_new] = multiples_.try_emplace(key_of_multiples(decimal, whole, low, high));
  const std::size_t cost = divisor ? divisor->whole : 0;
  if (is_new && divisor && builder_.affords(cost, 0) && work(cost)) {
    const auto made = multiples_between(*divisor, low, high);
    const std::size_t states = made ? made->states.size() : 0;
    if (made && builder_.affords(states / 4, states) && work(states / 4)) {
      const bool is_empty = made->states[0].edges == 0;
      found->second = is_empty ? builder_.any_of(std::span<const Part>()) : builder_.dfa(*made);
    }
  }
  if (!found->second) lets_pass(path, "is too large, or has too many digits");
  return found->second;
}

bool SchemaReader::read_bounds(const Object& object, const std::string& path,
                               std::optional<NumberBound>& low, std::optional<NumberBound>& high) {
  std::array<double, 2> bounds{};
  const auto read = [&](std::string_view keyword, bool excluded, std::optional<NumberBound>& bound,
                        bool is_low) {
    const Value* const value = object.if_contains(keyword);
    if (value == nullptr || error_) return;
    const double number = value->is_number() ? value->to_number<double>() : INFINITY;
    if (!std::isfinite(number)) {
      fail(below(path, keyword), "must be a number that a double holds", false);
      return;
    }
    double& now = bounds[is_low ? 0 : 1];
    if (bound && (is_low ? number < now : number > now)) return;
    if (bound && number == now && !excluded) return;
    now = number;
    bound = NumberBound{decimal_text(*value), excluded};
  };
  read("minimum", false, low, true);
  read("exclusiveMinimum", true, low, true);
  read("maximum", false, high, false);
  read("exclusiveMaximum", true, high, false);
  return !error_;
}

/// Returns numbers between two bounds, in the gaps between the excluded numbers.
SchemaReader::Part SchemaReader::numbers_between(const std::optional<NumberBound>& low,
                                                 const std::optional<NumberBound>& high,
                                                 std::span<const std::string> except,
                                                 std::uint32_t fraction_digits,
                                                 const std::string& path) {
  constexpr std::size_t kMostGaps = 16;
  if (except.size() >= kMostGaps) {
    if (!lets_pass(below(path, "not"), {})) return {};
    except = {};
  }
  std::vector<Part> gaps;
  std::optional<NumberBound> from = low;
  const auto add_gap = [&](const std::optional<NumberBound>& to) {
    if (!work(1000)) return;
    gaps.push_back(number_between(builder_, from, to, fraction_digits));
    from = to;
  };
  for (const std::string& one : except) {
    const double number = std::strtod(one.c_str(), nullptr);
    if (low && number < std::strtod(low->decimal.c_str(), nullptr)) continue;
    if (high && number > std::strtod(high->decimal.c_str(), nullptr)) continue;
    add_gap(NumberBound{one, true});
  }
  add_gap(high);
  return builder_.any_of(gaps);
}

SchemaReader::Part SchemaReader::number_part(const Object& object, bool whole,
                                             const std::string& path) {
  std::optional<NumberBound> low;
  std::optional<NumberBound> high;
  if (!read_bounds(object, path, low, high)) return {};
  std::uint32_t fraction_digits = whole ? 0 : fraction_digits_between(low, high);
  const std::vector<std::string> except = excluded_numbers(object);
  if (const Value* const multiple = object.if_contains("multipleOf")) {
    const auto part =
        multiples(*multiple, whole, low, high, below(path, "multipleOf"), fraction_digits);
    const bool passes = !part || except.empty() || lets_pass(below(path, "not"), {});
    if (part && passes) return *part;
    if (error_) return {};
  }
  if (!except.empty()) {
    return numbers_between(low, high, except, fraction_digits, path);
  }
  if (!low && !high && fraction_digits == kMaxFractionDigits) return builder_.json().number;
  if (!low && !high && fraction_digits == 0) return builder_.json().integer;
  if (!work(1000)) return {};
  return number_between(builder_, low, high, fraction_digits);
}

}  // namespace weft::grammar
