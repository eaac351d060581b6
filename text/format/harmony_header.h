#pragma once

#include <string_view>

namespace weft {

/// The header of one of harmony's messages, taken apart. Borrows its text.
struct HarmonyHeader {
  std::string_view channel{};    ///< a known one, or what stands in its place; empty: there is none
  std::string_view recipient{};  ///< the function, or who else gets the message
  std::string_view rest{};       ///< from the first word on that is of no header
};

/// Takes a header apart: a role, <|channel|> and its name, a recipient, <|constrain|> and a type,
/// in any order. The last channel counts, and a channel's name may stand without its tag.
[[nodiscard]] HarmonyHeader read_harmony_header(std::string_view text);

/// Whether a text without tags may be the beginning of a header whose tags are missing: a role or a
/// channel, and no other words.
[[nodiscard]] bool may_be_harmony_header(std::string_view text);

}  // namespace weft
