#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/grammar/engine/determinize.h"
#include "weft/grammar/forms/regex.h"
#include "weft/grammar/schema/json_parts.h"
#include "weft/grammar/schema/json_schema.h"

namespace weft::grammar {
namespace {

using Value = boost::json::value;

#define WEFT_DATE                                                                                \
  "[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|" \
  "30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
#define WEFT_TIME                                                                                 \
  "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-" \
  "5][0-9])"
#define WEFT_LABEL "[A-Za-z0-9](?:-?[A-Za-z0-9]){0,30}"
#define WEFT_BYTE "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define WEFT_HEX "[0-9A-Fa-f]{1,4}"
#define WEFT_GROUPS(most) "(?:" WEFT_HEX ":){1," #most "}"
#define WEFT_AFTER(most) "(?::" WEFT_HEX "){1," #most "}"
#define WEFT_NUMBER "[0-9]{1,9}"
#define WEFT_CLOCK                                                                                 \
  "T(?:" WEFT_NUMBER "H(?:" WEFT_NUMBER "M(?:" WEFT_NUMBER "S)?)?|" WEFT_NUMBER "M(?:" WEFT_NUMBER \
  "S)?|" WEFT_NUMBER "S)"

/// Each is a part of what its RFC allows: of a date, the days that every year has; of a year, those
/// that begin with 0000 too; of a host's name, labels of at most 31 letters, never two
/// hyphens in a row, which encoded names have, and four labels, within the 253 characters of all.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kFormats = {{
    {"date", WEFT_DATE},
    {"time", WEFT_TIME},
    {"date-time", WEFT_DATE "T" WEFT_TIME},
    {"duration",
     "P(?:" WEFT_NUMBER "W|" WEFT_CLOCK "|(?:" WEFT_NUMBER "Y(?:" WEFT_NUMBER "M(?:" WEFT_NUMBER
     "D)?)?|" WEFT_NUMBER "M(?:" WEFT_NUMBER "D)?|" WEFT_NUMBER "D)(?:" WEFT_CLOCK ")?)"},
    {"email", "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,32}(?:\\.[A-Za-z0-9_-]{1,16}){0,1}@" WEFT_LABEL
              "(?:\\." WEFT_LABEL "){1,2}"},
    {"hostname", WEFT_LABEL "(?:\\." WEFT_LABEL "){0,3}"},
    {"ipv4", WEFT_BYTE "(?:\\." WEFT_BYTE "){3}"},
    {"ipv6", "(?:" WEFT_HEX ":){7}" WEFT_HEX "|" WEFT_GROUPS(7) ":|" WEFT_GROUPS(6)
                 WEFT_AFTER(1) "|" WEFT_GROUPS(5) WEFT_AFTER(2) "|" WEFT_GROUPS(4)
                     WEFT_AFTER(3) "|" WEFT_GROUPS(3) WEFT_AFTER(4) "|" WEFT_GROUPS(2)
                         WEFT_AFTER(5) "|" WEFT_GROUPS(1) WEFT_AFTER(6) "|:" WEFT_AFTER(7) "|::"},
    {"uuid", "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"},
    {"uri",
     "[A-Za-z][A-Za-z0-9+.-]{0,15}://(?:[A-Za-z0-9._~-]{1,63}(?::[0-9]{1,5})?)(?:/"
     "[A-Za-z0-9._~!$&'()*+,;=:@-]{0,100}){0,8}(?:\\?[A-Za-z0-9._~!$&'()*+,;=:@/"
     "?-]{0,200})?(?:#[A-Za-z0-9._~!$&'()*+,;=:@/?-]{0,100})?"},
}};

#undef WEFT_DATE
#undef WEFT_TIME
#undef WEFT_LABEL
#undef WEFT_BYTE
#undef WEFT_HEX
#undef WEFT_GROUPS
#undef WEFT_AFTER
#undef WEFT_NUMBER
#undef WEFT_CLOCK

/// Multiples are told by a state for each rest.
constexpr std::uint64_t kLargestDivisor = 1000;

}  // namespace

std::optional<std::string_view> format_regex(std::string_view format) {
  const auto found = std::ranges::find(kFormats, format, [](const auto& one) { return one.first; });
  if (found == kFormats.end()) return std::nullopt;
  return found->second;
}

SchemaReader::Part SchemaReader::string_part(const Object& object, const std::string& path) {
  const auto least = count(object, "minLength", path);
  const auto most = count(object, "maxLength", path);
  if (error_) return {};
  const JsonParts& json = builder_.json();
  const Part quote = builder_.literal("\"");
  const Value* const pattern = object.if_contains("pattern");
  const Value* const format = object.if_contains("format");
  if (pattern == nullptr && format == nullptr) {
    if (!least && !most) return json.string;
    const std::uint64_t at_most = most.value_or(kNoBound);
    if (least.value_or(0) > at_most) return builder_.any_of(std::span<const Part>());
    return builder_.sequence(
        {quote,
         builder_.repeat(json.character, static_cast<std::uint32_t>(least.value_or(0)),
                         static_cast<std::uint32_t>(at_most)),
         quote});
  }
  const std::string where = below(path, pattern != nullptr ? "pattern" : "format");
  if (pattern != nullptr && builder_.value_form() == ValueForm::kTagged) {
    return fail(where, kNotBetweenTags);
  }
  const Value& rule = pattern != nullptr ? *pattern : *format;
  if (!rule.is_string()) return fail(where, "must be a string", false);
  if (pattern != nullptr && format != nullptr) {
    return fail(below(path, "format"), "is not supported beside pattern");
  }
  const std::string text(rule.get_string());
  const auto of_format = format_regex(text);
  if (pattern == nullptr && !of_format) {
    return fail(where, "'" + std::string(cut_utf8(text, 80)) + "' is not supported");
  }
  if (!work(text.size() / 4)) return {};
  const auto contents = pattern != nullptr
                            ? read_regex(builder_, text, {.in_json = true, .searches = true})
                            : read_regex(builder_, *of_format, {.in_json = true});
  if (!contents) return fail(where, contents.error().detail);
  Part inside = *contents;
  if (least || most) {
    inside = bounded_pattern(inside, least.value_or(0), most.value_or(kNoBound), where);
  }
  return builder_.sequence({quote, inside, quote});
}

SchemaReader::Part SchemaReader::bounded_pattern(Part pattern, std::uint64_t least,
                                                 std::uint64_t most, const std::string& path) {
  constexpr std::size_t kMostStates = 1000;
  constexpr std::size_t kWorkOfAny = 2000;  // an automaton is made of the pattern in any case
  constexpr std::size_t kWorkOfState = 10;
  if (!work(kWorkOfAny)) return {};
  const auto contents = determinized(builder_.data(), pattern.node, kMostStates);
  if (contents && !work(kWorkOfState * contents->states.size())) return {};
  const auto bounded = contents ? with_length(*contents, least, most) : std::nullopt;
  if (bounded && !work(bounded->states.size())) return {};
  if (!bounded) return fail(path, "is too complex beside minLength and maxLength");
  return builder_.dfa(*bounded);
}

std::optional<SchemaReader::Part> SchemaReader::multiples(const Object& object, bool whole,
                                                          const std::string& path,
                                                          std::uint32_t& fraction_digits) {
  const Value* const multiple = object.if_contains("multipleOf");
  if (multiple == nullptr) return std::nullopt;
  const std::string where = below(path, "multipleOf");
  const double value = multiple->is_number() ? multiple->to_number<double>() : 0;
  if (!(value > 0)) return fail(where, "must be a number above 0", false);
  if (value == 1) {
    fraction_digits = 0;
    return std::nullopt;
  }
  const bool is_bounded = object.contains("minimum") || object.contains("maximum") ||
                          object.contains("exclusiveMinimum") ||
                          object.contains("exclusiveMaximum");
  if (value > 1 && value <= static_cast<double>(kLargestDivisor) && value == std::floor(value) &&
      !is_bounded) {
    return builder_.dfa(multiples_dfa(static_cast<std::uint32_t>(value)));
  }
  const std::string decimal = decimal_text(*multiple);
  const bool is_tenth = decimal.starts_with("0.") && decimal.back() == '1' &&
                        decimal.find_first_not_of('0', 2) == decimal.size() - 1;
  if (is_tenth && decimal.size() - 2 <= kMaxFractionDigits) {
    if (!whole) fraction_digits = static_cast<std::uint32_t>(decimal.size() - 2);
    // Which floating-point numbers are multiples is a matter of rounding: of fewer digits all are.
    return std::nullopt;
  }
  return fail(where,
              "is supported for whole numbers up to 1000 without bounds, and 0.1, 0.01, ...");
}

SchemaReader::Part SchemaReader::number_part(const Object& object, bool whole,
                                             const std::string& path) {
  std::uint32_t fraction_digits = whole ? 0 : kMaxFractionDigits;
  if (const auto part = multiples(object, whole, path, fraction_digits)) return *part;
  std::optional<NumberBound> low;
  std::optional<NumberBound> high;
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
  if (error_) return {};
  const bool is_plain = !low && !high && fraction_digits == kMaxFractionDigits;
  if (is_plain) return builder_.json().number;
  if (!low && !high && fraction_digits == 0) return builder_.json().integer;
  if (!work(1000)) return {};
  return number_between(builder_, low, high, fraction_digits);
}

}  // namespace weft::grammar
