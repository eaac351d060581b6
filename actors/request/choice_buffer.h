#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/actors/request/chunked_array.h"
#include "weft/actors/request/generation_result.h"
#include "weft/actors/request/request.h"

namespace weft {

/// One output's text and tokens, on the way from the detokenizer to the reader, without a lock: one
/// thread appends, one takes. Everything is kept to the end, so unread output is one range, however
/// many deltas it came in.
class ChoiceBuffer {
 public:
  /// Makes a buffer with room for as much of the request's output as stream_defaults.h says.
  explicit ChoiceBuffer(const Request& request);

  /// Appends a delta; for the delivering thread. Returns false, and adds nothing, if there is no
  /// memory or the output exceeds what a stream can count.
  [[nodiscard]] bool append(const DeltaView& delta) noexcept;

  /// Whether there is unread output. Thread-safe. It is ordered with other atomic operations, since
  /// all are sequentially consistent.
  [[nodiscard]] bool unread() const noexcept {
    return published_.load() != taken_.load(std::memory_order_acquire) ||
           marks_settled_.load() > marks_taken_.load(std::memory_order_acquire);
  }
  /// The bytes of unread text. Thread-safe.
  [[nodiscard]] std::size_t unread_bytes() const noexcept {
    const std::uint64_t taken = taken_.load(std::memory_order_acquire);
    return unpack(published_.load()).text - unpack(taken).text;
  }
  /// The number of tokens so far. Thread-safe.
  [[nodiscard]] std::size_t tokens() const noexcept { return unpack(published_.load()).tokens; }

  /// Takes all unread output; for the reader.
  void take(Delta& delta);

  /// Copies the whole output; for the reader.
  void copy_all(GeneratedChoice& choice) const;

 private:
  struct Sizes {
    std::size_t tokens, text;
  };
  static std::uint64_t pack(Sizes sizes) noexcept;
  static Sizes unpack(std::uint64_t word) noexcept;
  [[nodiscard]] std::size_t top_per_token() const noexcept {
    return static_cast<std::size_t>(top_per_token_);
  }
  /// A mark as it is kept: readers see it once they see `visible` bytes of text, which is what
  /// there are with the delta that it came in.
  struct KeptMark {
    PieceMark mark;
    std::size_t visible = 0;
  };

  void append_marks(const DeltaView& delta);
  void append_token_texts(const DeltaView& delta);
  template <class Out>
  void copy(Sizes from, Sizes to, Out& out) const;
  /// Copies the marks from number `from` on that lie within a text of `to`, as offsets from
  /// `from.text`, and returns the number of the next. `kind` is what the text before them is.
  std::size_t copy_marks(std::size_t from, Sizes text_from, Sizes text_to, PieceKind& kind,
                         std::vector<PieceMark>& out) const;

  const bool with_logprobs_;
  const bool with_top_;
  std::int32_t top_per_token_ = 0;  // set before the first token is published
  ChunkedArray<char> text_;
  ChunkedArray<TokenId> tokens_;
  ChunkedArray<float> logprobs_;
  ChunkedArray<TokenText> token_texts_;  // offsets in the whole text
  ChunkedArray<TokenLogprob> top_;
  std::atomic<std::uint64_t> published_{0};  // Sizes; grows only
  std::atomic<std::uint64_t> taken_{0};      // written by the reader

  const bool typed_;
  ChunkedArray<KeptMark> marks_;
  PieceKind last_kind_ = PieceKind::kText;       // of the text appended last
  std::atomic<std::size_t> marks_published_{0};  // before the text that they are of
  std::atomic<std::size_t> marks_settled_{0};    // the same, after it
  std::atomic<std::size_t> marks_taken_{0};      // the reader's
  PieceKind taken_kind_ = PieceKind::kText;      // of the text taken last; the reader's
};

}  // namespace weft
