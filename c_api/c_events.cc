#include "weft/c_api/c_events.h"

#include <type_traits>

namespace weft::c_api {
namespace {

static_assert(std::is_same_v<TokenId, std::int32_t>, "tokens are handed over as they lie");

weft_event_kind kind_of(PieceKind kind) noexcept {
  switch (kind) {
    case PieceKind::kText:
      return WEFT_TEXT;
    case PieceKind::kReasoning:
      return WEFT_REASONING;
    case PieceKind::kCallName:
      return WEFT_CALL_NAME;
    case PieceKind::kArguments:
      return WEFT_ARGUMENTS;
    case PieceKind::kCallEnd:
      return WEFT_CALL_END;
    case PieceKind::kCallId:
      return WEFT_CALL_ID;
  }
  return WEFT_TEXT;
}

/// The texts of to_string(FinishReason) are literals, which end with a zero byte.
const char* finish_of(FinishReason reason) noexcept { return to_string(reason).data(); }

}  // namespace

void EventList::clear() noexcept {
  events_.clear();
  texts_.clear();
  tops_.clear();
}

weft_event& EventList::event(std::uint64_t request, weft_event_kind kind, std::int32_t output,
                             std::string_view text) {
  const std::string& kept = texts_.emplace_back(text);
  weft_event& one = events_.emplace_back();
  one.request = request;
  one.kind = kind;
  one.output = output;
  one.text = kept.c_str();
  one.text_bytes = kept.size();
  return one;
}

void EventList::add(std::uint64_t request, const Delta& delta) {
  const std::size_t first = events_.size();
  for_each_piece(delta.text, delta.marks, [&](OutputPiece piece) {
    event(request, kind_of(piece.kind), delta.choice, piece.text);
  });
  if (first == events_.size()) event(request, WEFT_TEXT, delta.choice, {});
  add_tokens(events_[first], delta);
}

void EventList::add_tokens(weft_event& event, const Delta& delta) {
  if (!delta.top.empty()) {
    std::vector<weft_logprob>& top = tops_.emplace_back();
    top.reserve(delta.top.size());
    for (const TokenLogprob& one : delta.top) top.push_back({one.token, one.logprob});
    event.top = top.data();
    event.top_per_token = delta.top_per_token;
  }
  event.tokens = delta.tokens.data();
  event.token_count = delta.tokens.size();
  event.logprobs = delta.logprobs.empty() ? nullptr : delta.logprobs.data();
}

void EventList::add(std::uint64_t request, std::int32_t output, const ChoiceEnd& end) {
  event(request, WEFT_OUTPUT_END, output, end.stop).finish = finish_of(end.reason);
}

void EventList::add_end(std::uint64_t request, FinishReason reason, const Usage& usage,
                        std::string_view why) {
  const std::string& kept = texts_.emplace_back(why);
  weft_event& one = event(request, WEFT_END, 0, {});
  one.finish = finish_of(reason);
  one.error = kept.empty() ? nullptr : kept.c_str();
  one.prompt_tokens = usage.prompt_tokens;
  one.output_tokens = usage.output_tokens;
  one.cached_tokens = usage.cached_tokens;
  one.reasoning_tokens = usage.reasoning_tokens;
}

}  // namespace weft::c_api
