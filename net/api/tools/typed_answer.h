#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/request/generation_result.h"

namespace weft {

/// Returns a call's arguments for APIs that want a JSON object. A text that is no object, as a
/// model may have written it, stands in an object, under the name of Anthropic's documentation:
/// {"INVALID_JSON": text}.
[[nodiscard]] std::string arguments_object(std::string_view arguments);

/// What one output has come to: its pieces put together. Owner only.
struct TypedAnswer {
  struct Call {
    std::string id{};  ///< the model's own; empty: it has none
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
