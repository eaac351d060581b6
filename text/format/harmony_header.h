#pragma once

#include <string_view>

namespace weft {

/// The header of one of harmony's messages, taken apart. Borrows its text.
struct HarmonyHeader {
  std::string_view channel{};    ///< a known channel, or the word in its place; empty: none
  std::string_view recipient{};  ///< the function, or another receiver of the message
  std::string_view rest{};       ///< the text from the first word on that is no part of a header
};

/// Takes a header apart: a role, <|channel|> and its name, a recipient, <|constrain|> and a type,
/// in any order. The last channel counts, and a channel's name may stand without its tag.
[[nodiscard]] HarmonyHeader read_harmony_header(std::string_view text);

/// Returns whether a text without tags may begin a header whose tags are missing: it has a role or
/// a channel, and no other words.
[[nodiscard]] bool may_be_harmony_header(std::string_view text);

}  // namespace weft
