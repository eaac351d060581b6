#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// How events are separated on the wire.
enum class Framing : std::uint8_t {
  kBody,       ///< one JSON text, the body of a plain answer
  kSse,        ///< "data: ...\n\n", with an "event:" line where the event has a name
  kWebSocket,  ///< one text message for each event
  kLines,      ///< one JSON text a line (NDJSON)
};

/// Whether the answer to an HTTP request is sent piece by piece.
[[nodiscard]] constexpr bool streams(Framing framing) noexcept {
  return framing == Framing::kSse || framing == Framing::kLines;
}

/// Events that go out together. Writers append JSON to text() between begin() and end(); the memory
/// is kept from batch to batch. Owner only.
class EventBatch {
 public:
  explicit EventBatch(Framing framing) noexcept : framing_(framing) {}

  [[nodiscard]] Framing framing() const noexcept { return framing_; }

  /// Begins an event. SSE puts `name` on an "event:" line; WebSocket clients find it in the event's
  /// type.
  void begin(std::string_view name = {});
  [[nodiscard]] std::string& text() noexcept { return bytes_; }
  void end();
  /// Adds a comment, which clients ignore; only with kSse.
  void add_comment(std::string_view text);
  /// Calls begin(), appends `json`, and calls end().
  void add(std::string_view json, std::string_view name = {});

  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  /// The ends of the messages in bytes(); only with kWebSocket.
  [[nodiscard]] std::span<const std::size_t> message_ends() const noexcept { return ends_; }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  void clear() noexcept;
  /// Clears the batch for events of another framing.
  void restart(Framing framing) noexcept {
    clear();
    framing_ = framing;
  }

 private:
  Framing framing_;
  std::string bytes_;
  std::vector<std::size_t> ends_;
};

}  // namespace weft
