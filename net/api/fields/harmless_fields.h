#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/net/api/fields/body_fields.h"

/// Fields that change no output of this server. Clients send them, many by default. They are
/// accepted with the values that change nothing, and refused by name with any other value.
namespace weft {

/// The object that a field stands in.
enum class FieldPlace : std::uint8_t {
  kRequest,        ///< a body of any of OpenAI's three APIs, or of Anthropic's
  kCompletion,     ///< a body of chat or text completions
  kResponse,       ///< a body of the Responses API
  kMessages,       ///< a body of the Messages API
  kOutputConfig,   ///< `output_config` of the Messages API
  kOllama,         ///< a body of Ollama's API
  kOllamaOptions,  ///< `options` of Ollama's API
  kOllamaMessage,  ///< a message of Ollama's API
  kStreamOptions,  ///< `stream_options` of chat or text completions
  kResponseText,   ///< `text` of the Responses API
  kMessage,        ///< a message of a chat, or an item of `input`
  kHistory,        ///< a message or item of an assistant
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
  std::string_view sender;  ///< which clients send it, and why it changes nothing
};

/// Returns all harmless fields. docs/http-api.md repeats the list; a test compares the two.
[[nodiscard]] std::span<const HarmlessField> harmless_fields() noexcept;

/// Whether `values` allows this value.
[[nodiscard]] bool is_harmless(simdjson::dom::element value, Harmless values);

/// Returns the beginning of a path in that place, for errors and documentation: "messages[].",
/// "text.", or nothing.
[[nodiscard]] std::string_view path_of(FieldPlace place) noexcept;

/// Returns the allowed values in words: "false", "an empty list".
[[nodiscard]] std::string_view words_of(Harmless values) noexcept;

/// Takes all fields of `place`; 400 "unsupported" for a value that is not among those of its row.
void take_harmless_fields(const BodyFields& fields, FieldPlace place);

}  // namespace weft
