#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The kind of a run of an output's text. A call is a kCallName, any number of kArguments and, once
/// it is complete, a kCallEnd. Calls follow each other and are counted from 0 in their order. Where
/// the model gave the call an id, a kCallId comes right before its kCallName.
enum class PieceKind : std::uint8_t {
  kText,       ///< the answer itself
  kReasoning,  ///< thoughts before the answer
  kCallName,   ///< begins a call: the function's whole name, in one piece
  kArguments,  ///< more of the call's arguments: JSON as the model wrote it, which may be invalid
  kCallEnd,    ///< ends the call; has no text. An output that is cut off may lack it.
  kCallId,     ///< the model's own id of the call whose name follows: whole, in one piece
};

/// The beginning of a run of one kind in a text. The run ends where the next one begins, or with
/// the text.
struct PieceMark {
  std::size_t begin = 0;  ///< offset in bytes
  PieceKind kind = PieceKind::kText;

  friend bool operator==(const PieceMark&, const PieceMark&) = default;
};

/// A run of text or thoughts whose bytes are unchanged in the output, and its offset there.
struct SourceRun {
  std::size_t begin = 0;   ///< offset in the typed text
  std::size_t source = 0;  ///< offset in the output
  std::size_t size = 0;
  PieceKind kind = PieceKind::kText;
};

/// A run of an output, borrowed.
struct OutputPiece {
  PieceKind kind = PieceKind::kText;
  std::string_view text{};  ///< valid UTF-8; empty for kCallEnd
};

/// Calls `each(OutputPiece)` with the runs of a text in their order. A text without marks is all
/// kText. Runs without text are left out, except kCallEnd.
template <std::invocable<OutputPiece> Each>
void for_each_piece(std::string_view text, std::span<const PieceMark> marks, Each&& each) {
  const std::size_t before = marks.empty() ? text.size() : marks.front().begin;
  if (before > 0) each(OutputPiece{PieceKind::kText, text.substr(0, before)});
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const std::size_t end = i + 1 < marks.size() ? marks[i + 1].begin : text.size();
    const std::string_view run = text.substr(marks[i].begin, end - marks[i].begin);
    if (run.empty() && marks[i].kind != PieceKind::kCallEnd) continue;
    each(OutputPiece{marks[i].kind, run});
  }
}

/// A text with the kinds of its runs, while it is being written. Buffers keep their memory over
/// clear(). Owner only.
class TypedText {
 public:
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  /// Returns the runs' offsets in text(). Neighbours differ in kind, unless a call begins or ends.
  [[nodiscard]] std::span<const PieceMark> marks() const noexcept { return marks_; }
  [[nodiscard]] bool empty() const noexcept { return text_.empty() && marks_.empty(); }
  /// Returns the runs that were added with their source, in their order. The bytes of the output
  /// between them are tags, calls and dropped white space.
  [[nodiscard]] std::span<const SourceRun> sources() const noexcept { return sources_; }

  /// Appends a run, which continues the previous run where both have one kind.
  void add(PieceKind kind, std::string_view text) {
    const bool whole =
        kind == PieceKind::kCallName || kind == PieceKind::kCallEnd || kind == PieceKind::kCallId;
    if (text.empty() && !whole) return;
    if (whole || marks_.empty() || marks_.back().kind != kind) {
      marks_.push_back({text_.size(), kind});
    }
    text_.append(text);
  }
  /// Appends a run of text or thoughts that stands at `source` in the output.
  void add(PieceKind kind, std::string_view text, std::size_t source) {
    if (text.empty()) return;
    if (!sources_.empty() && sources_.back().kind == kind &&
        sources_.back().begin + sources_.back().size == text_.size() &&
        sources_.back().source + sources_.back().size == source) {
      sources_.back().size += text.size();
    } else {
      sources_.push_back({text_.size(), source, text.size(), kind});
    }
    add(kind, text);
  }
  void append(std::string_view text, std::span<const PieceMark> marks) {
    for_each_piece(text, marks, [this](OutputPiece piece) { add(piece.kind, piece.text); });
  }
  void append(const TypedText& other) { append(other.text_, other.marks_); }
  void clear() noexcept {
    text_.clear();
    marks_.clear();
    sources_.clear();
  }

 private:
  std::string text_;
  std::vector<PieceMark> marks_;
  std::vector<SourceRun> sources_;
};

}  // namespace weft
