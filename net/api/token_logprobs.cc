#include "weft/net/api/token_logprobs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <string>

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

void TokenLogprobWriter::append(const Delta& delta, std::string& out) {
  const std::size_t tokens = std::min(delta.tokens.size(), delta.logprobs.size());
  const auto width = static_cast<std::size_t>(delta.top_per_token);
  for (std::size_t i = 0; i < tokens; ++i) {
    if (i > 0) out.push_back(',');
    append_token({delta.tokens[i], delta.logprobs[i]}, out);
    out.append(",\"top_logprobs\":[");
    if ((i + 1) * width <= delta.top.size()) {
      for (std::size_t rank = 0; rank < width; ++rank) {
        if (rank > 0) out.push_back(',');
        append_token(delta.top[i * width + rank], out);
        out.push_back('}');
      }
    }
    out.append("]}");
  }
}

void TokenLogprobWriter::append_token(TokenLogprob token, std::string& out) {
  bytes_.clear();
  static_cast<void>(model_->tokenizer.append_bytes(token.token, bytes_));  // unknown: none
  out.append("{\"token\":");
  append_json_string(out, shows_ids_ ? token_id_text(token.token) : bytes_);
  out.append(",\"logprob\":");
  append_logprob(out, token.logprob);
  out.append(",\"bytes\":[");
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_number(out, static_cast<unsigned char>(bytes_[i]));
  }
  out.push_back(']');
}

}  // namespace weft
