#include "weft/net/api/token_logprobs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "weft/net/api/fields/json_text.h"

namespace weft {

void append_logprob(std::string& out, float logprob) {
  constexpr float kLowest = -9999;
  if (!(logprob >= kLowest)) logprob = kLowest;
  std::array<char, 32> digits;  // the longest float has 15
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), std::min(logprob, 0.0F));
  const std::string_view number(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out.append(number);
  if (number.find_first_of(".e") == std::string_view::npos) out.append(".0");
}

std::string token_id_text(TokenId token) { return "token_id:" + std::to_string(token); }

TokenRun tokens_of(const Delta& delta, std::string_view run) noexcept {
  const auto begin = static_cast<std::size_t>(run.data() - delta.text.data());
  const std::size_t known = std::min(delta.logprobs.size(), delta.token_texts.size());
  const auto texts = std::span(delta.token_texts).first(known);
  const auto from = [&](std::size_t offset) {
    const auto at = std::ranges::lower_bound(texts, offset, {}, &TokenText::begin);
    return static_cast<std::size_t>(at - texts.begin());
  };
  return {.first = from(begin), .last = from(begin + run.size())};
}

std::string_view text_of_token(const Delta& delta, std::size_t token) noexcept {
  const TokenText& text = delta.token_texts[token];
  return std::string_view(delta.text).substr(text.begin, text.size);
}

std::span<const TokenLogprob> top_of_token(const Delta& delta, std::size_t token) noexcept {
  const auto width = static_cast<std::size_t>(delta.top_per_token);
  if ((token + 1) * width > delta.top.size()) return {};
  return std::span(delta.top).subspan(token * width, width);
}

void TokenLogprobWriter::append(const Delta& delta, std::string_view run, std::string& out) {
  const TokenRun tokens = tokens_of(delta, run);
  for (std::size_t i = tokens.first; i < tokens.last; ++i) {
    const std::string_view own = text_of_token(delta, i);
    if (own.empty()) continue;
    if (!out.empty()) out.push_back(',');
    append_token(delta.tokens[i], own, delta.logprobs[i], out);
    out.append(",\"top_logprobs\":[");
    bool first = true;
    for (const TokenLogprob& one : top_of_token(delta, i)) {
      if (!std::exchange(first, false)) out.push_back(',');
      append_token(one.token, one.token == delta.tokens[i] ? own : bytes_of(one.token), one.logprob,
                   out);
      out.push_back('}');
    }
    out.append("]}");
  }
}

std::string_view TokenLogprobWriter::bytes_of(TokenId token) {
  bytes_.clear();
  // an unknown token has no bytes
  static_cast<void>(model_->tokenizer.append_bytes(token, bytes_));
  return bytes_;
}

void TokenLogprobWriter::append_token(TokenId token, std::string_view bytes, float logprob,
                                      std::string& out) const {
  out.append("{\"token\":");
  append_json_string(out, shows_ids_ ? token_id_text(token) : std::string(bytes));
  out.append(",\"logprob\":");
  append_logprob(out, logprob);
  out.append(",\"bytes\":[");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_number(out, static_cast<unsigned char>(bytes[i]));
  }
  out.push_back(']');
}

}  // namespace weft
