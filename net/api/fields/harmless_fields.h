#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/net/api/fields/body_fields.h"

/// Fields that clients send, many of them by default, and that change no output of this server:
/// they are accepted with the values that change nothing, and refused by name with any other.
namespace weft {

/// The object that a field stands in.
enum class FieldPlace : std::uint8_t {
  kRequest,        ///< a body of any of OpenAI's three APIs, or of Anthropic's
  kCompletion,     ///< of chat or text completions
  kResponse,       ///< of the Responses API
  kMessages,       ///< of the Messages API
  kOutputConfig,   ///< `output_config` of the Messages API
  kOllama,         ///< a body of Ollama's API
  kOllamaOptions,  ///< `options` of Ollama's API
  kOllamaMessage,  ///< a message of Ollama's API
  kStreamOptions,  ///< `stream_options` of chat or text completions
  kResponseText,   ///< `text` of the Responses API
  kMessage,        ///< a message of a chat, or an item of `input`
  kHistory,        ///< the same, of an assistant
  kItem,           ///< an item of `input`
  kPart,           ///< a part of a message's content
};

/// The values with which a field changes nothing.
enum class Harmless : std::uint8_t {
  kAnything,
  kText,
  kFlag,  ///< true or false
  kTrue,
  kFalse,
  kEmptyList,
  kEmptyObject,
  kEmptyText,
  kVerbosity,  ///< "low", "medium" or "high"
};

struct HarmlessField {
  FieldPlace place;
  std::string_view name;
  Harmless values;
  std::string_view sender;  ///< who sends it, and why it changes nothing
};

/// The list of all of them. docs/http-api.md repeats it; a test compares the two.
[[nodiscard]] std::span<const HarmlessField> harmless_fields() noexcept;

/// Whether a field that changes nothing with these values may have this one.
[[nodiscard]] bool is_harmless(simdjson::dom::element value, Harmless values);

/// How a path of errors and documentation begins in that place: "messages[].", "text.", or nothing.
[[nodiscard]] std::string_view path_of(FieldPlace place) noexcept;

/// What `values` allows, in words: "false", "an empty list".
[[nodiscard]] std::string_view words_of(Harmless values) noexcept;

/// Takes all fields of `place`; 400 "unsupported" for a value that is not among those of its row.
void take_harmless_fields(const BodyFields& fields, FieldPlace place);

}  // namespace weft
