#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Thoughts stand between two tags, at the beginning of an output.
struct ThoughtSyntax {
  std::string open{}, close{};
  /// A call ends open thoughts. In other families a call inside of thoughts counts only if the
  /// thoughts are never closed: models write down calls that they think about.
  bool ended_by_call = false;

  [[nodiscard]] bool any() const noexcept { return !close.empty(); }
};

/// How the inside of a call is written.
enum class CallBody : std::uint8_t {
  kNone,    ///< the family writes no calls that are known
  kJson,    ///< {"name": NAME, "arguments": {...}}, or a list of those
  kKeyed,   ///< {NAME: {...}}, or a list of those
  kNamed,   ///< NAME in front of its arguments, which are JSON
  kTagged,  ///< NAME and each argument between tags
  kPairs,   ///< NAME{key:value, ...}: keys are bare, and texts stand between tags
  kPython,  ///< [NAME(key=value, ...), ...] as in Python
};

/// How calls are written.
struct CallSyntax {
  CallBody body = CallBody::kNone;
  /// The texts that begin and end a call, or a list of calls. `open` may be empty: then an output
  /// that begins with a call of a known function is a call. `close` may be empty, or missing in an
  /// output whose body tells its end.
  std::string open{}, close{};

  /// kJson: the names of the two fields. Other names that models write for them are known, too.
  std::string name_key = "name", arguments_key = "arguments";

  /// kNamed, kTagged and kPairs: the texts before and after the name. kNamed: the name loses all
  /// text up to `name_prefix`, and all text from `name_suffix` on.
  std::string name_open{}, name_close{}, name_prefix{}, name_suffix{};
  /// kNamed: the name with its prefix and suffix is the call's id, and the only thing that the
  /// family's template prints of a call that was made.
  bool name_is_id = false;

  /// kTagged: key_open KEY key_close value_open VALUE value_close, any number of times, then
  /// body_close. Without value_open, a line's end before and after the value is not part of it,
  /// unless `inline_values` is set. kPairs: a text stands between value_open and value_close.
  std::string key_open{}, key_close{}, value_open{}, value_close{}, body_close{};
  bool inline_values = false;
  /// kTagged: stands behind KEY, before `true` where the value is a text and `false` where it is
  /// JSON; empty: only the function's schema tells.
  std::string type_mark{};

  // The members below are not needed to read calls, but to write them.

  /// kJson and kKeyed: the calls of an output stand in one list.
  bool in_list = false;
  /// kPython: each call stands on a line of its own, without brackets around them.
  bool by_line = false;
  /// kJson: the field before the name that says which call it is; empty: none.
  std::string id_key{};
  /// kNamed: the regular expression of what stands before `name_prefix` and behind `name_suffix`.
  std::string id_before{}, id_behind{};
  /// Tags around all calls of an output, which are silent ones.
  std::string group_open{}, group_close{};
};

/// The tags of OpenAI's harmony: the first three begin and make up a message's header, the others
/// end it.
inline constexpr auto kHarmonyTags = std::to_array<std::string_view>({
    "<|start|>",
    "<|channel|>",
    "<|constrain|>",
    "<|message|>",
    "<|end|>",
    "<|call|>",
    "<|return|>",
});

/// How a model family writes thoughts and calls, as data. One parser reads all formats
/// (output_parser.h).
struct OutputFormat {
  std::string name{};
  ThoughtSyntax thoughts{};
  CallSyntax calls{};
  /// Tags around text or calls that add nothing to the other tags.
  std::vector<std::string> silent{};
  /// The silent tag that the family writes before an answer.
  std::string answer_open{};
  /// The output is a sequence of messages on channels, as OpenAI's harmony writes them: a message's
  /// header tells thoughts, calls and text apart, and the other members are empty.
  bool harmony = false;

  /// Whether the format has any tags: else all of an output is text.
  [[nodiscard]] bool any() const noexcept {
    return harmony || thoughts.any() || calls.body != CallBody::kNone;
  }
  /// Returns every tag, none of them empty.
  [[nodiscard]] std::vector<std::string_view> tags() const;
};

/// A built-in way of writing calls or thoughts, and the texts that must all stand in the chat
/// template of such a model, if they identify it. Calls and thoughts have separate entries: many
/// families share one and not the other.
struct KnownFormat {
  OutputFormat format;
  std::vector<std::string> evidence{};
  std::string_view families{};  ///< for people
  /// Other texts that identify the format too, where all stand in the template; empty: none.
  std::vector<std::string> other_evidence{};
};

/// The built-in table. The first matching row is used; docs/model-families.md repeats the table.
[[nodiscard]] std::span<const KnownFormat> known_calls();
[[nodiscard]] std::span<const KnownFormat> known_thoughts();

/// How a model with this chat template writes: by the named format for its calls, or its thoughts;
/// without a name (null) by the first row of known_calls(), or known_thoughts(), whose evidence the
/// template has. Without a match the format has no calls and no thoughts.
[[nodiscard]] OutputFormat find_output_format(std::string_view chat_template,
                                              const OutputFormat* calls = nullptr,
                                              const OutputFormat* thoughts = nullptr);

/// The calls of one format and the thoughts of another.
[[nodiscard]] OutputFormat join_formats(OutputFormat calls, const OutputFormat& thoughts);

/// The row of that name in either table; null: none.
[[nodiscard]] const OutputFormat* known_format(std::string_view name);

}  // namespace weft
