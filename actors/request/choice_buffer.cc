#include "weft/actors/request/choice_buffer.h"

#include <algorithm>
#include <new>

#include "weft/actors/request/stream_defaults.h"
#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

std::size_t reserved_tokens(const Request& request) noexcept {
  const auto most = static_cast<std::size_t>(std::max(request.max_tokens, 0));
  return std::clamp(most, kSmallestChunk, kReservedTokens);
}

}  // namespace

ChoiceBuffer::ChoiceBuffer(const Request& request)
    : with_logprobs_(request.sampling.logprobs),
      with_top_(request.sampling.top_logprobs > 0),
      text_(reserved_tokens(request) * kReservedBytesPerToken),
      tokens_(reserved_tokens(request)),
      logprobs_(with_logprobs_ ? reserved_tokens(request) : 1),
      token_texts_(with_logprobs_ ? reserved_tokens(request) : 1),
      top_(with_top_ ? kMaxTopLogprobs * kSmallestChunk : 1),
      typed_(request.typed_output),
      marks_(typed_ ? kSmallestChunk : 1) {}

std::uint64_t ChoiceBuffer::pack(Sizes sizes) noexcept {
  return static_cast<std::uint64_t>(sizes.tokens) << kStreamTextBits | sizes.text;
}

ChoiceBuffer::Sizes ChoiceBuffer::unpack(std::uint64_t word) noexcept {
  return {.tokens = word >> kStreamTextBits,
          .text = word & ((std::uint64_t{1} << kStreamTextBits) - 1)};
}

bool ChoiceBuffer::append(const DeltaView& delta) noexcept {
  const std::size_t tokens = delta.tokens.size();
  // The first token sets it; readers use it only if there are tokens.
  if (with_top_ && tokens_.size() == 0 && tokens > 0) top_per_token_ = delta.top_per_token;
  if ((with_logprobs_ && (delta.logprobs.size() != tokens || delta.token_texts.size() != tokens)) ||
      (with_top_ && delta.top.size() != tokens * top_per_token())) {
    internal_error_noexcept("a delta lacks the logprobs that its request asked for");
    return false;
  }
  if (tokens_.size() + tokens > kMaxStreamTokens ||
      text_.size() + delta.text.size() >= std::size_t{1} << kStreamTextBits) {
    return false;
  }
  try {
    text_.append(delta.text);
    if (typed_) append_marks(delta);
    tokens_.append(delta.tokens);
    if (with_logprobs_) {
      logprobs_.append(delta.logprobs);
      append_token_texts(delta);
    }
    if (with_top_) top_.append(delta.top);
  } catch (const std::bad_alloc&) {
    return false;
  }
  marks_published_.store(marks_.size());
  published_.store(pack({.tokens = tokens_.size(), .text = text_.size()}));
  marks_settled_.store(marks_.size());
  return true;
}

// A mark that continues the previous run is not kept, so there is one mark a run.
void ChoiceBuffer::append_marks(const DeltaView& delta) {
  const std::size_t begin = text_.size() - delta.text.size();
  for (const PieceMark& mark : delta.marks) {
    const bool whole = mark.kind == PieceKind::kCallName || mark.kind == PieceKind::kCallEnd ||
                       mark.kind == PieceKind::kCallId;
    if (!whole && mark.kind == last_kind_) continue;
    const KeptMark kept{{begin + mark.begin, mark.kind}, text_.size()};
    marks_.append({&kept, 1});
    last_kind_ = mark.kind;
  }
}

void ChoiceBuffer::append_token_texts(const DeltaView& delta) {
  const std::size_t base = text_.size() - delta.text.size();
  for (const TokenText& one : delta.token_texts) {
    const TokenText kept{.begin = base + one.begin, .size = one.size};
    token_texts_.append({&kept, 1});
  }
}

template <class Out>
void ChoiceBuffer::copy(Sizes from, Sizes to, Out& out) const {
  text_.copy(from.text, to.text, out.text);
  tokens_.copy(from.tokens, to.tokens, out.tokens);
  if (with_logprobs_) {
    logprobs_.copy(from.tokens, to.tokens, out.logprobs);
    const std::size_t first = out.token_texts.size();
    token_texts_.copy(from.tokens, to.tokens, out.token_texts);
    for (TokenText& one : std::span(out.token_texts).subspan(first)) one.begin -= from.text;
  }
  if (with_top_ && to.tokens > 0) {
    top_.copy(from.tokens * top_per_token(), to.tokens * top_per_token(), out.top);
    out.top_per_token = top_per_token_;
  }
}

std::size_t ChoiceBuffer::copy_marks(std::size_t from, Sizes text_from, Sizes text_to,
                                     PieceKind& kind, std::vector<PieceMark>& out) const {
  // Loaded after the text's size, so no mark of that text is missed.
  const std::size_t published = marks_published_.load();
  PieceKind last = kind;
  std::vector<KeptMark> kept;
  marks_.copy(from, published, kept);
  std::size_t next = from;
  for (const KeptMark& one : kept) {
    if (one.visible > text_to.text) break;
    const std::size_t begin = one.mark.begin - text_from.text;
    if (next == from && begin > 0) out.push_back({0, kind});
    out.push_back({begin, one.mark.kind});
    last = one.mark.kind;
    ++next;
  }
  if (next == from && text_to.text > text_from.text) out.push_back({0, kind});
  kind = last;
  return next;
}

void ChoiceBuffer::take(Delta& delta) {
  const std::uint64_t published = published_.load();
  const Sizes from = unpack(taken_.load(std::memory_order_relaxed));
  if (typed_) {
    const std::size_t first = marks_taken_.load(std::memory_order_relaxed);
    PieceKind kind = taken_kind_;
    const std::size_t next = copy_marks(first, from, unpack(published), kind, delta.marks);
    copy(from, unpack(published), delta);
    taken_kind_ = kind;
    marks_taken_.store(next, std::memory_order_release);
  } else {
    copy(from, unpack(published), delta);
  }
  taken_.store(published, std::memory_order_release);
}

void ChoiceBuffer::copy_all(GeneratedChoice& choice) const {
  const Sizes all = unpack(published_.load());
  copy({.tokens = 0, .text = 0}, all, choice);
  PieceKind kind = PieceKind::kText;
  if (typed_) copy_marks(0, {.tokens = 0, .text = 0}, all, kind, choice.marks);
}

}  // namespace weft
