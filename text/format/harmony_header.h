#pragma once

#include <string_view>

namespace weft {

/// The parts of one harmony message's header. Borrows its text.
struct HarmonyHeader {
  std::string_view channel{};    ///< a known channel, or the word in its place; empty: there is
                                 ///< none
  std::string_view recipient{};  ///< the function, or another receiver of the message
  std::string_view rest{};       ///< the text from the first word on that does not belong to a
                                 ///< header
};

/// Splits a header into its parts: a role, <|channel|> and its name, a recipient, <|constrain|> and
/// a type, in any order. The last channel counts, and a channel's name may come without its tag.
[[nodiscard]] HarmonyHeader read_harmony_header(std::string_view text);

/// Returns whether a text without tags may begin a header whose tags are missing: it has a role or
/// a channel, and no other words.
[[nodiscard]] bool may_be_harmony_header(std::string_view text);

}  // namespace weft
