#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/net/api/responses/response_api.h"
#include "weft/net/api/tools/tool_origin.h"
#include "weft/text/output/output_piece.h"

namespace weft {

/// One item of a response's output, as far as it has come.
struct ResponseItem {
  enum class Kind : std::uint8_t { kMessage, kReasoning, kCall };

  Kind kind = Kind::kMessage;
  std::string id{};
  std::size_t index = 0;      ///< output_index
  std::string text{};         ///< text of a message or a thought; arguments of a call
  std::string logprobs{};     ///< logprobs of a message's tokens, as JSON without brackets
  std::string name{};         ///< a call's function, by the model's name
  ToolOrigin tool{};          ///< a call's tool, by the client's name
  std::string call_id{};      ///< id of a call
  bool call_ended = false;    ///< whether a call is complete
  std::string_view status{};  ///< set when the item has ended: "completed" or "incomplete"; a
                              ///< constant

  /// Returns the item as JSON. Without `content` it is the item as it began.
  [[nodiscard]] std::string json(std::string_view status_now, bool content) const;
  /// Returns whether the item's text is streamed piece by piece.
  [[nodiscard]] bool comes_in_pieces() const noexcept {
    return kind != Kind::kCall || tool.kind == ToolKind::kFunction;
  }
  /// Returns the content part of a message or a thought as JSON. Without `content` it is the empty
  /// part with which the item begins.
  [[nodiscard]] std::string part(bool content) const;
};

/// The output of a response: items in their order; only the last may be open. Owner only.
class ResponseItems {
 public:
  explicit ResponseItems(const ResponseOptions& options);

  /// Returns the item that a piece belongs to, and makes it if necessary. `piece` is neither
  /// kCallEnd nor kCallId. The caller has ended an open item of another kind.
  ResponseItem& place_of(const OutputPiece& piece);
  /// Sets the model's own id for the next call.
  void name_call(std::string_view id) { next_call_id_ = id; }
  /// Returns the open item; null where none is open.
  [[nodiscard]] ResponseItem* open() noexcept;
  /// Whether a piece of this kind belongs to another item than the open one.
  [[nodiscard]] bool ends_open_item(PieceKind kind) noexcept;
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }

  /// Returns all items as JSON, with commas; `status` is the status of the open item.
  [[nodiscard]] std::string json(std::string_view status) const;

  /// Returns the answer as a message for the chat template.
  [[nodiscard]] boost::json::object message(const ServedModel& model) const;

 private:
  std::string id_of(const ResponseItem& item) const;

  std::shared_ptr<const ToolOrigins> tools_;
  std::string response_id_;  // "resp_..."
  std::string message_id_;   // id of the first message
  std::vector<ResponseItem> items_;
  std::size_t calls_ = 0;
  std::string next_call_id_;
};

}  // namespace weft
