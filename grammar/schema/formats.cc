#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/grammar/schema/json_schema.h"

namespace weft::grammar {
namespace {

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

/// Each format is a subset of its RFC. Every month has only the days that it has in each year;
/// years may begin with 0000. Host names have at most four labels of at most 31 letters, which
/// keeps them below 253 characters. They never have two hyphens in a row, because encoded names
/// have these.
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

/// URIs without bounds of their own, for schemas that bound them by minLength and maxLength: the
/// automaton has few states.
constexpr std::string_view kPlainUri =
    "[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._~-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~!$&'()*+,;=:@-]*)*"
    "(?:\\?[A-Za-z0-9._~!$&'()*+,;=:@/?-]*)?(?:#[A-Za-z0-9._~!$&'()*+,;=:@/?-]*)?";

#undef WEFT_DATE
#undef WEFT_TIME
#undef WEFT_LABEL
#undef WEFT_BYTE
#undef WEFT_HEX
#undef WEFT_GROUPS
#undef WEFT_AFTER
#undef WEFT_NUMBER
#undef WEFT_CLOCK

}  // namespace

std::optional<std::string_view> format_regex(std::string_view format) {
  const auto found = std::ranges::find(kFormats, format, [](const auto& one) { return one.first; });
  if (found == kFormats.end()) return std::nullopt;
  return found->second;
}

std::string_view countable_format_regex(std::string_view format) {
  return format == "uri" ? kPlainUri : format_regex(format).value_or("");
}

}  // namespace weft::grammar
