#include "weft/actors/request/aligned_output.h"

#include <algorithm>

#include "weft/core/text/utf8.h"

namespace weft {

void AlignedOutput::Tokens::move_first(std::size_t count, Tokens& to) {
  const std::size_t width = ids.empty() ? 0 : top.size() / ids.size();
  const auto move = [](auto& from, std::size_t first, auto& into) {
    const auto end = from.begin() + static_cast<std::ptrdiff_t>(first);
    into.insert(into.end(), from.begin(), end);
    from.erase(from.begin(), end);
  };
  move(ids, count, to.ids);
  move(logprobs, count, to.logprobs);
  move(top, count * width, to.top);
}

void AlignedOutput::Tokens::clear() noexcept {
  ids.clear();
  logprobs.clear();
  top.clear();
}

void AlignedOutput::add(TokenId token, float logprob, std::span<const TokenLogprob> top) {
  tokens_.ids.push_back(token);
  tokens_.logprobs.push_back(logprob);
  tokens_.top.insert(tokens_.top.end(), top.begin(), top.end());
}

void AlignedOutput::add(std::string_view text) {
  if (!text.empty()) runs_.push_back({PieceKind::kText, text.size(), added_});
  text_.append(text);
  added_ += text.size();
  settled_ = added_;
}

// Adds text and thoughts run by run (sources()), and all else by the marks.
void AlignedOutput::add(const TypedText& typed, std::size_t settled) {
  text_.append(typed.text());
  auto source = typed.sources().begin();
  for_each_piece(typed.text(), typed.marks(), [&](OutputPiece piece) {
    const auto begin = static_cast<std::size_t>(piece.text.data() - typed.text().data());
    const std::size_t end = begin + piece.text.size();
    const bool prose = piece.kind == PieceKind::kText || piece.kind == PieceKind::kReasoning;
    if (!prose) return runs_.push_back({piece.kind, piece.text.size(), kNoSource});
    for (; source != typed.sources().end() && source->begin < end; ++source) {
      runs_.push_back({piece.kind, source->size, source->source});
    }
  });
  settled_ = settled;
}

std::size_t AlignedOutput::complete_tokens() const noexcept {
  const std::size_t known = std::min(ends_.size(), tokens_.ids.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < known && ends_[i] <= settled_; ++i) {
    if (!splits_character(ends_[i])) count = i + 1;
  }
  return count;
}

// A text that is delivered has whole characters, so a token that ends within one waits for the
// character's other tokens.
bool AlignedOutput::splits_character(std::size_t end) const noexcept {
  std::size_t begin = 0;
  for (const Run& run : runs_) {
    const bool inside = run.source != kNoSource && run.source < end && end < run.source + run.size;
    if (inside) return is_continuation_byte(text_[begin + (end - run.source)]);
    begin += run.size;
  }
  return false;
}

// Moves the runs before this byte of the output to out_ and notes where each one goes. A run of
// a call stands behind the text before it.
void AlignedOutput::take_text(std::size_t end) {
  std::size_t taken = 0;
  std::size_t whole = 0;
  for (Run& run : runs_) {
    const bool prose = run.source != kNoSource;
    const std::size_t part = prose ? std::min(run.size, end - std::min(end, run.source)) : run.size;
    const std::string_view text = std::string_view(text_).substr(taken, part);
    if (prose) {
      out_.add(run.kind, text, run.source);
    } else {
      out_.add(run.kind, text);
    }
    taken += part;
    if (part < run.size) {
      run.size -= part;
      run.source += part;
      break;
    }
    ++whole;
  }
  runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(whole));
  text_.erase(0, taken);
}

// A token may stand in several runs. The answer's run decides its text, else the first run.
TokenText AlignedOutput::text_of(std::size_t begin, std::size_t end) const noexcept {
  TokenText found{};
  bool answer = false;
  for (const SourceRun& run : out_.sources()) {
    const std::size_t from = std::max(begin, run.source);
    const std::size_t to = std::min(end, run.source + run.size);
    if (from >= to) continue;
    const bool is_answer = run.kind == PieceKind::kText;
    const std::size_t at = run.begin + (from - run.source);
    if (found.size > 0 && is_answer == answer && found.begin + found.size == at) {
      found.size += to - from;
    } else if (found.size == 0 || (is_answer && !answer)) {
      found = {.begin = at, .size = to - from};
      answer = is_answer;
    }
  }
  return found;
}

void AlignedOutput::release(bool all, DeltaView& delta) {
  constexpr auto kEnd = static_cast<std::size_t>(-1);
  const std::size_t count = all ? tokens_.ids.size() : complete_tokens();
  const auto end_of = [&](std::size_t token) { return token < ends_.size() ? ends_[token] : kEnd; };
  out_.clear();
  out_tokens_.clear();
  out_texts_.clear();
  take_text(all ? kEnd : count > 0 ? end_of(count - 1) : released_);
  std::size_t last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    TokenText text = text_of(released_, end_of(i));
    if (text.size == 0) text.begin = last;
    last = text.begin + text.size;
    out_texts_.push_back(text);
    released_ = end_of(i);
  }
  tokens_.move_first(count, out_tokens_);
  ends_.erase(ends_.begin(),
              ends_.begin() + static_cast<std::ptrdiff_t>(std::min(count, ends_.size())));
  delta.text = out_.text();
  delta.marks = out_.marks();
  delta.tokens = out_tokens_.ids;
  delta.token_texts = out_texts_;
  delta.logprobs = out_tokens_.logprobs;
  delta.top = out_tokens_.top;
}

}  // namespace weft
