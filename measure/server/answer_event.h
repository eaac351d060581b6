#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace weft::measure {

/// The measured facts of one event of an answer. Texts last until the next event is read.
struct AnswerEvent {
  bool piece = false;                    ///< the event has a part of the answer
  bool finished = false;                 ///< the answer is whole
  std::optional<std::int32_t> prompt{};  ///< tokens
  std::optional<std::int32_t> output{};  ///< tokens
  std::string_view stream_id{};          ///< on a WebSocket; empty: it names none
  /// The reason why there is no answer: the server's code or type, or "unknown" without either.
  std::string_view error{};
  std::string_view message{};  ///< the error's message for people, as escaped JSON
};

/// Reads events. It reads as little of each event as possible, because the load's thread reads the
/// events of every token. Owner only.
class AnswerEventReader {
 public:
  AnswerEventReader();
  ~AnswerEventReader();
  AnswerEventReader(const AnswerEventReader&) = delete;
  AnswerEventReader& operator=(const AnswerEventReader&) = delete;

  /// Reads an event of /v1/completions or /v1/chat/completions: a chunk, "[DONE]" or an error.
  /// Returns nothing when it is no JSON.
  [[nodiscard]] std::optional<AnswerEvent> completion(std::string_view data);
  /// Reads a message of a WebSocket at /v1/responses. Returns nothing when it is no JSON.
  [[nodiscard]] std::optional<AnswerEvent> response(std::string_view message);
  /// Reads the error in the body of an answer that failed; the event has no error when the body is
  /// something else.
  [[nodiscard]] AnswerEvent failure(std::string_view body);

 private:
  struct Json;
  std::unique_ptr<Json> json_;
};

}  // namespace weft::measure
