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
      top_(with_top_ ? kMaxTopLogprobs * kSmallestChunk : 1) {}

std::uint64_t ChoiceBuffer::pack(Sizes sizes) noexcept {
  return static_cast<std::uint64_t>(sizes.tokens) << kStreamTextBits | sizes.text;
}

ChoiceBuffer::Sizes ChoiceBuffer::unpack(std::uint64_t word) noexcept {
  return {.tokens = word >> kStreamTextBits,
          .text = word & ((std::uint64_t{1} << kStreamTextBits) - 1)};
}

bool ChoiceBuffer::append(const DeltaView& delta) noexcept {
  const std::size_t tokens = delta.tokens.size();
  // The first token decides it; readers look at it only where there are tokens.
  if (with_top_ && tokens_.size() == 0 && tokens > 0) top_per_token_ = delta.top_per_token;
  if ((with_logprobs_ && delta.logprobs.size() != tokens) ||
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
    tokens_.append(delta.tokens);
    if (with_logprobs_) logprobs_.append(delta.logprobs);
    if (with_top_) top_.append(delta.top);
  } catch (const std::bad_alloc&) {
    return false;
  }
  published_.store(pack({.tokens = tokens_.size(), .text = text_.size()}));
  return true;
}

template <class Out>
void ChoiceBuffer::copy(Sizes from, Sizes to, Out& out) const {
  text_.copy(from.text, to.text, out.text);
  tokens_.copy(from.tokens, to.tokens, out.tokens);
  if (with_logprobs_) logprobs_.copy(from.tokens, to.tokens, out.logprobs);
  if (with_top_ && to.tokens > 0) {
    top_.copy(from.tokens * top_per_token(), to.tokens * top_per_token(), out.top);
    out.top_per_token = top_per_token_;
  }
}

void ChoiceBuffer::take(Delta& delta) {
  const std::uint64_t published = published_.load();
  copy(unpack(taken_.load(std::memory_order_relaxed)), unpack(published), delta);
  taken_.store(published, std::memory_order_release);
}

void ChoiceBuffer::copy_all(GeneratedChoice& choice) const {
  copy({.tokens = 0, .text = 0}, unpack(published_.load()), choice);
}

}  // namespace weft
