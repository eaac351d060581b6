#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "weft/cli/chat/chat_backend.h"

namespace weft::cli {

/// Writes {"type":"response.create", ...} for the stream `id`. The server is told not to store the
/// response.
///
/// Source: Open Responses, "WebSocket transport" (2026-04-24).
[[nodiscard]] std::string create_message(const std::string& id, boost::json::object request);
/// Writes {"type":"response.cancel", ...} for the stream `id`.
[[nodiscard]] std::string cancel_message(const std::string& id);

/// Text of an answer's thoughts.
struct AnswerThought {
  std::string text{};
};

/// The news of an answer in an event of the transport.
struct ResponseEvent {
  std::string id{};  ///< the id of the answer's stream; empty: the event is about the whole
                     ///< connection
  /// The event's content: text, a thought, a whole call, or the end.
  std::variant<std::string, AnswerThought, AnswerCall, AnswerEnd> news{};
};

/// Returns nothing for events without news, and for a text that is no event.
[[nodiscard]] std::optional<ResponseEvent> parse_event(std::string_view message);

}  // namespace weft::cli
