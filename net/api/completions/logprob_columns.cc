#include "weft/net/api/completions/logprob_columns.h"

#include <algorithm>
#include <string_view>

#include "weft/core/text/utf8.h"
#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/token_logprobs.h"

namespace weft {
namespace {

std::string escaped_bytes(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "bytes:";
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    text.append("\\x");
    text.push_back(kDigits[code >> 4]);
    text.push_back(kDigits[code & 15]);
  }
  return text;
}

}  // namespace

void LogprobColumns::add(const Delta& delta) {
  const std::size_t tokens = std::min(delta.tokens.size(), delta.logprobs.size());
  for (std::size_t i = 0; i < tokens; ++i) {
    if (!tokens_.empty()) {
      for (std::string* column : {&tokens_, &token_logprobs_, &top_logprobs_, &text_offset_}) {
        column->push_back(',');
      }
    }
    const std::string text = text_of(delta.tokens[i]);
    append_number(text_offset_, static_cast<std::int64_t>(offset_));
    offset_ += count_code_points(bytes_);
    append_json_string(tokens_, text);
    append_logprob(token_logprobs_, delta.logprobs[i]);
    if (with_top_) add_top(delta, i, text);
  }
}

std::string LogprobColumns::text_of(TokenId token) {
  bytes_.clear();
  static_cast<void>(model_->tokenizer.append_bytes(token, bytes_));  // unknown: none
  return is_utf8(bytes_) ? bytes_ : escaped_bytes(bytes_);
}

// Tokens whose texts are equal share a key, which has the most probable one's logprob.
void LogprobColumns::add_top(const Delta& delta, std::size_t at, const std::string& own_text) {
  names_.clear();
  top_logprobs_.push_back('{');
  const auto add = [&](const std::string& name, float logprob) {
    if (std::ranges::find(names_, name) != names_.end()) return;
    if (!names_.empty()) top_logprobs_.push_back(',');
    append_json_string(top_logprobs_, name);
    top_logprobs_.push_back(':');
    append_logprob(top_logprobs_, logprob);
    names_.push_back(name);
  };
  const auto width = static_cast<std::size_t>(delta.top_per_token);
  if ((at + 1) * width <= delta.top.size()) {
    for (std::size_t rank = 0; rank < width; ++rank) {
      const TokenLogprob& top = delta.top[at * width + rank];
      add(text_of(top.token), top.logprob);
    }
  }
  add(own_text, delta.logprobs[at]);
  top_logprobs_.push_back('}');
}

void LogprobColumns::append_to(std::string& out) const {
  out.append("{\"tokens\":[").append(tokens_);
  out.append("],\"token_logprobs\":[").append(token_logprobs_);
  if (with_top_) {
    out.append("],\"top_logprobs\":[").append(top_logprobs_).push_back(']');
  } else {
    out.append("],\"top_logprobs\":null");
  }
  out.append(",\"text_offset\":[").append(text_offset_).append("]}");
}

void LogprobColumns::clear() noexcept {
  for (std::string* column : {&tokens_, &token_logprobs_, &top_logprobs_, &text_offset_}) {
    column->clear();
  }
}

}  // namespace weft
