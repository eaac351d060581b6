#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/text/output/output_piece.h"

namespace weft {

/// Writes runs of text and of thoughts without the white space between them and tags, and knows
/// their offsets in the output. Owner only.
class Prose {
 public:
  /// Begins a run of this kind after a tag. White space before the run is dropped.
  void begin(PieceKind kind) {
    kind_ = kind;
    skips_ = true;
    spaces_.clear();
  }

  /// Adds held-back white space, then the run at next(); holds back white space at the run's end.
  void add(std::string_view run, TypedText& out);

  /// Sets the offset in the output of the run that is added next. Held-back white space stands
  /// right before it.
  void go_to(std::size_t offset) noexcept { next_ = offset; }
  /// Skips bytes that do not belong to a run.
  void skip(std::size_t bytes) noexcept { next_ += bytes; }
  /// Returns the offset up to which the output is settled: written or dropped.
  [[nodiscard]] std::size_t settled() const noexcept { return next_ - spaces_.size(); }

  /// Takes the last white space, which may precede a tag; the caller adds it later, or drops it.
  [[nodiscard]] std::string take_spaces();
  /// Drops the last white space, because a tag follows.
  void drop_spaces() noexcept { spaces_.clear(); }

  /// Forgets the kind of the last run, as if the output began here.
  void restart() noexcept {
    kind_ = PieceKind::kText;
    skips_ = false;
    blank_ = true;
    spaces_.clear();
  }

  /// Called when no tag follows: the last white space belongs to the run.
  void end(TypedText& out) { add_spaces(out); }

  /// Whether only white space has come since begin(), or since the output began. White space there
  /// is kept, unless a tag follows.
  [[nodiscard]] bool fresh() const noexcept { return skips_ || blank_; }

 private:
  void add_spaces(TypedText& out);

  PieceKind kind_ = PieceKind::kText;
  bool skips_ = false;
  bool blank_ = true;  // only white space has come, which is held back
  std::string spaces_;
  std::size_t next_ = 0;  // the offset after spaces_
};

}  // namespace weft
