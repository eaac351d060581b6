#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/request/generation_result.h"

namespace weft {

/// Returns a call's arguments for APIs that require a JSON object. A model may have written a text
/// that is no object. It is then put into one, under the name that Anthropic documents:
/// {"INVALID_JSON": text}.
[[nodiscard]] std::string arguments_object(std::string_view arguments);

/// An output put together from its pieces. Owner only.
struct TypedAnswer {
  struct Call {
    std::string id{};  ///< the model's own id; empty: it gives none
    std::string name{};
    std::string arguments{};
    bool complete = false;
  };

  std::string reasoning{};
  std::string text{};
  std::vector<Call> calls{};
  std::string next_id{};  ///< id of the next call

  void add(const Delta& delta) {
    for_each_piece(delta.text, delta.marks, [this](const OutputPiece& piece) { add(piece); });
  }
  void add(const OutputPiece& piece) {
    switch (piece.kind) {
      case PieceKind::kText:
        text.append(piece.text);
        break;
      case PieceKind::kReasoning:
        reasoning.append(piece.text);
        break;
      case PieceKind::kCallName:
        calls.push_back({.id = std::exchange(next_id, {}), .name = std::string(piece.text)});
        break;
      case PieceKind::kCallId:
        next_id = piece.text;
        break;
      case PieceKind::kArguments:
        if (!calls.empty()) calls.back().arguments.append(piece.text);
        break;
      case PieceKind::kCallEnd:
        if (!calls.empty()) calls.back().complete = true;
        break;
    }
  }
};

}  // namespace weft
