#include "weft/text/format/harmony_header.h"

#include <array>

#include "weft/text/format/tag_scanner.h"

namespace weft {
namespace {

constexpr std::string_view kChannelTag = "<|channel|>";
constexpr std::string_view kConstrainTag = "<|constrain|>";
constexpr std::string_view kRecipientMark = "to=";
constexpr std::string_view kRole = "assistant";
constexpr auto kChannels = std::to_array<std::string_view>({"analysis", "commentary", "final"});
constexpr auto kTypes = std::to_array<std::string_view>({"json", "code"});

void skip_spaces(std::string_view& text) {
  while (!text.empty() && is_markup_space(text.front())) text.remove_prefix(1);
}

std::string_view word_of(std::string_view text) {
  return text.substr(0, text.find_first_of(" \n\t\r<"));
}

bool take(std::string_view& text, std::string_view begin) {
  if (!text.starts_with(begin)) return false;
  text.remove_prefix(begin.size());
  return true;
}

/// Takes a channel's name. Where a word only begins with a name, the rest of the word is left.
std::string_view take_channel(std::string_view& text) {
  for (const std::string_view known : kChannels) {
    if (take(text, known)) return known;
  }
  return {};
}

bool take_type(std::string_view& text) {
  const std::string_view word = word_of(text);
  for (const std::string_view known : kTypes) {
    if (word == known) return take(text, known);
  }
  return false;
}

/// Takes one part of a header; returns false where the text begins with none.
bool take_part(std::string_view& text, HarmonyHeader& header) {
  if (take(text, kChannelTag)) {
    skip_spaces(text);
    header.channel = take_channel(text);
    if (!header.channel.empty()) return true;
    const std::string_view unknown = word_of(text);
    header.channel = unknown.empty() ? kChannelTag : unknown;
    return take(text, unknown);
  }
  if (take(text, kConstrainTag)) {
    skip_spaces(text);
    return take(text, word_of(text));
  }
  if (take(text, kRecipientMark)) {
    header.recipient = word_of(text).substr(0, text.find('{'));
    return take(text, header.recipient);
  }
  return take(text, kRole) || (!header.recipient.empty() && take_type(text));
}

}  // namespace

HarmonyHeader read_harmony_header(std::string_view text) {
  HarmonyHeader header;
  skip_spaces(text);
  while (!text.empty()) {
    if (!take_part(text, header)) {
      const std::string_view channel =
          header.channel.empty() ? take_channel(text) : std::string_view{};
      if (channel.empty()) break;
      header.channel = channel;
    }
    skip_spaces(text);
  }
  header.rest = text;
  return header;
}

bool may_be_harmony_header(std::string_view text) {
  skip_spaces(text);
  if (kRole.starts_with(text)) return true;
  take(text, kRole);
  skip_spaces(text);
  for (const std::string_view known : kChannels) {
    if (known.starts_with(text)) return true;
  }
  if (take_channel(text).empty()) return false;
  if (text.empty()) return true;
  if (!is_markup_space(text.front())) return false;
  skip_spaces(text);
  const bool is_recipient = text.starts_with(kRecipientMark) && word_of(text) == text;
  return is_recipient || kRecipientMark.starts_with(text);
}

}  // namespace weft
