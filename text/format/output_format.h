#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Thoughts between two tags, at the beginning of an output.
struct ThoughtSyntax {
  std::string open{}, close{};
  /// Whether a call ends open thoughts. In other families a call inside thoughts counts only if the
  /// thoughts are never closed, because models write down calls that they think about.
  bool ended_by_call = false;

  [[nodiscard]] bool any() const noexcept { return !close.empty(); }
};

/// The form of the text inside a call.
enum class CallBody : std::uint8_t {
  kNone,    ///< the family writes no known form of calls
  kJson,    ///< {"name": NAME, "arguments": {...}}, or a list of such objects
  kKeyed,   ///< {NAME: {...}}, or a list of such objects
  kNamed,   ///< NAME before its arguments, which are JSON
  kTagged,  ///< NAME and each argument between tags
  kPairs,   ///< NAME{key:value, ...}: keys are bare, and texts stand between tags
  kPython,  ///< [NAME(key=value, ...), ...], in Python's form
};

/// The form of calls.
struct CallSyntax {
  CallBody body = CallBody::kNone;
  /// The texts that begin and end a call, or a list of calls. `open` may be empty: then an output
  /// that begins with a call of a known function is a call. `close` may be empty, or missing in an
  /// output whose body shows its own end.
  std::string open{}, close{};

  /// kJson: the names of the two fields. Other names that models write instead are accepted, too.
  std::string name_key = "name", arguments_key = "arguments";

  /// kNamed, kTagged and kPairs: the texts before and after the name. kNamed: text up to
  /// `name_prefix`, and from `name_suffix` on, does not belong to the name.
  std::string name_open{}, name_close{}, name_prefix{}, name_suffix{};
  /// kNamed: the name with its prefix and suffix is the call's id. The family's template prints
  /// only this id of a past call.
  bool name_is_id = false;

  /// kTagged: key_open KEY key_close value_open VALUE value_close, any number of times, then
  /// body_close. Without value_open, a line end before and after the value does not belong to it,
  /// unless `inline_values` is set. kPairs: a text stands between value_open and value_close.
  std::string key_open{}, key_close{}, value_open{}, value_close{}, body_close{};
  bool inline_values = false;
  /// kTagged: follows KEY, and precedes `true` where the value is a text or `false` where it is
  /// JSON. Empty: only the function's schema says which.
  std::string type_mark{};

  // The members below are needed only to write calls, not to read them.

  /// kJson and kKeyed: all calls of an output stand in one list.
  bool in_list = false;
  /// kPython: each call stands on its own line, without brackets around them.
  bool by_line = false;
  /// kJson: the field before the name that identifies the call; empty: none.
  std::string id_key{};
  /// kNamed: regular expressions for the text before `name_prefix` and after `name_suffix`.
  std::string id_before{}, id_behind{};
  /// Tags around all calls of an output. They are silent tags.
  std::string group_open{}, group_close{};
};

/// The tags of OpenAI's harmony: the first three form a message's header, the others end the
/// message.
inline constexpr auto kHarmonyTags = std::to_array<std::string_view>({
    "<|start|>",
    "<|channel|>",
    "<|constrain|>",
    "<|message|>",
    "<|end|>",
    "<|call|>",
    "<|return|>",
});

/// The format of a model family's thoughts and calls, as data. One parser reads all formats
/// (output_parser.h).
struct OutputFormat {
  std::string name{};
  ThoughtSyntax thoughts{};
  CallSyntax calls{};
  /// Tags around text or calls that carry no meaning besides the other tags.
  std::vector<std::string> silent{};
  /// The silent tag that the family writes before an answer.
  std::string answer_open{};
  /// The output is a sequence of messages on channels, in OpenAI's harmony format. A message's
  /// header distinguishes thoughts, calls and text, and the other members are empty.
  bool harmony = false;

  /// Whether the format has any tags; without tags the whole output is text.
  [[nodiscard]] bool any() const noexcept {
    return harmony || thoughts.any() || calls.body != CallBody::kNone;
  }
  /// Returns every tag, none of them empty.
  [[nodiscard]] std::vector<std::string_view> tags() const;
};

/// A built-in format of calls or thoughts, and the texts that identify it when all of them are in
/// the model's chat template. Calls and thoughts have separate entries, because many families share
/// one but not the other.
struct KnownFormat {
  OutputFormat format;
  std::vector<std::string> evidence{};
  std::string_view families{};  ///< shown to people
  /// Alternative texts that identify the format when all of them are in the template; empty: none.
  std::vector<std::string> other_evidence{};
};

/// Returns the built-in table. The first matching row is used; docs/model-families.md repeats the
/// table.
[[nodiscard]] std::span<const KnownFormat> known_calls();
[[nodiscard]] std::span<const KnownFormat> known_thoughts();

/// Returns the format of a model with this chat template. A name selects the format of its calls,
/// or of its thoughts. Without a name (null) the first row of known_calls(), or known_thoughts(),
/// is used whose evidence is in the template. Without a match the format has no calls and no
/// thoughts.
[[nodiscard]] OutputFormat find_output_format(std::string_view chat_template,
                                              const OutputFormat* calls = nullptr,
                                              const OutputFormat* thoughts = nullptr);

/// Combines the calls of one format with the thoughts of another.
[[nodiscard]] OutputFormat join_formats(OutputFormat calls, const OutputFormat& thoughts);

/// Returns the row of that name in either table; null: there is none.
[[nodiscard]] const OutputFormat* known_format(std::string_view name);

}  // namespace weft
