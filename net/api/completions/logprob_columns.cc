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

bool LogprobColumns::add(const Delta& delta) {
  const std::size_t tokens = std::min(delta.logprobs.size(), delta.token_texts.size());
  for (std::size_t i = 0; i < tokens; ++i) {
    const std::string_view text = text_of_token(delta, i);
    begin_token(delta.tokens[i], text);
    offset_ += count_code_points(text);
    append_logprob(token_logprobs_, delta.logprobs[i]);
    if (with_top_) add_top(top_of_token(delta, i), delta.tokens[i], delta.logprobs[i]);
  }
  return tokens > 0;
}

void LogprobColumns::add_prompt(const PromptLogprobs& prompt, std::size_t top, bool has_special,
                                std::size_t end) {
  for (std::size_t i = 0; i < prompt.tokens().size(); ++i) {
    const TokenId token = prompt.tokens()[i];
    bytes_.clear();
    // an unknown token has no bytes
    static_cast<void>(model_->tokenizer.append_bytes(token, bytes_));
    begin_token(token, bytes_);
    if (has_special || !model_->tokenizer.is_special(token)) offset_ += count_code_points(bytes_);
    if (i == 0) {
      token_logprobs_.append("null");
      if (with_top_) top_logprobs_.append("null");
      continue;
    }
    const PromptLogprobs::Entry entry = prompt.entry(i);
    append_logprob(token_logprobs_, entry.logprob);
    if (with_top_) add_top(entry.top.first(std::min(top, entry.top.size())), token, entry.logprob);
  }
  offset_ = end;
}

/// Appends a token and its offset; name_ then holds this token's name.
void LogprobColumns::begin_token(TokenId token, std::string_view bytes) {
  if (!tokens_.empty()) {
    for (std::string* column : {&tokens_, &token_logprobs_, &top_logprobs_, &text_offset_}) {
      column->push_back(',');
    }
  }
  name_ = name_of(token, bytes);
  append_number(text_offset_, static_cast<std::int64_t>(offset_));
  append_json_string(tokens_, name_);
}

std::string LogprobColumns::text_of(TokenId token) {
  bytes_.clear();
  // an unknown token has no bytes
  static_cast<void>(model_->tokenizer.append_bytes(token, bytes_));
  return name_of(token, bytes_);
}

std::string LogprobColumns::name_of(TokenId token, std::string_view bytes) const {
  if (shows_ids_) return token_id_text(token);
  return is_utf8(bytes) ? std::string(bytes) : escaped_bytes(bytes);
}

// Tokens with equal texts share a key; it has the logprob of the most probable one.
void LogprobColumns::add_top(std::span<const TokenLogprob> top, TokenId own, float own_logprob) {
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
  for (const TokenLogprob& one : top) {
    add(one.token == own ? name_ : text_of(one.token), one.logprob);
  }
  add(name_, own_logprob);
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
