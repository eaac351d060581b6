#pragma once

#include <string>
#include <string_view>

#include "weft/text/output/output_piece.h"

namespace weft {

/// Writes runs of text and of thoughts, without the white space between them and tags. Owner only.
class Prose {
 public:
  /// Begins a run of this kind behind a tag: the white space before it is dropped.
  void begin(PieceKind kind) {
    kind_ = kind;
    skips_ = true;
    spaces_.clear();
  }

  void add(std::string_view run, TypedText& out);

  /// Takes the white space that came last, which a tag may follow.
  [[nodiscard]] std::string take_spaces();

  /// No tag follows: the white space that came last is of the run.
  void end(TypedText& out) { add_spaces(out); }

  /// Whether nothing but white space has come since begin(), or since the output began. There it
  /// is kept, unless a tag follows.
  [[nodiscard]] bool fresh() const noexcept { return skips_ || blank_; }

 private:
  void add_spaces(TypedText& out);

  PieceKind kind_ = PieceKind::kText;
  bool skips_ = false;
  bool blank_ = true;  // nothing but white space has come, and it is held back
  std::string spaces_;
};

}  // namespace weft
