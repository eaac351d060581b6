#include "weft/text/chat/chat_encoder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "weft/core/error/checked.h"
#include "weft/text/chat/call_arguments.h"
#include "weft/text/chat/call_ids.h"
#include "weft/text/chat/literal_texts.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

namespace json = boost::json;

Result<ChatTemplate> parse(std::string_view source) {
  if (source.empty()) return Error{TextErrc::kBadTemplate, "the model has no chat template"};
  return ChatTemplate::parse(source, "chat_template");
}

json::object special_tokens_of(const Tokenizer& tokenizer) {
  json::object special;
  for (const auto& [name, id] : {std::pair("bos_token", tokenizer.bos()),
                                 {"eos_token", tokenizer.eos()},
                                 {"unk_token", tokenizer.unknown()},
                                 {"pad_token", tokenizer.padding()}}) {
    if (id == kNoToken) continue;
    if (const auto text = tokenizer.token(id)) special[name] = *text;
  }
  return special;
}

// What a template writes may be special tokens.
constexpr bool kParseSpecial = true;

/// The bytes of a prompt beyond which it has more than `max_tokens`, or `limit` if that is less.
std::size_t useful_bytes(const Tokenizer& tokenizer, std::size_t max_tokens, std::size_t limit) {
  const auto longest = tokenizer.bytes_per_token(kParseSpecial);
  const auto most = longest ? checked_multiply(*longest, max_tokens) : std::nullopt;
  return most ? std::min(limit, *most) : limit;
}

// Too many tokens are no field's fault: whoever bounds them names what they are for.
Error in_messages(const Error& error) {
  if (error.code == TextErrc::kTooManyTokens) return error;
  return {error.code, "messages: " + error.detail};
}

}  // namespace

ChatEncoder::ChatEncoder(Tokenizer tokenizer, std::string_view source)
    : tokenizer_(std::move(tokenizer)),
      template_(parse(source)),
      special_tokens_(special_tokens_of(tokenizer_)) {
  const bool has_calls = source.find("tool_calls") != std::string_view::npos;
  if (!template_ || !has_calls) return;
  text_arguments_ = wants_text_arguments(*template_, special_tokens_);
  named_ids_ = wants_named_ids(*template_, special_tokens_);
}

ChatEncoder::ChatEncoder(const Tokenizer& tokenizer)
    : ChatEncoder(tokenizer, tokenizer.chat_template()) {}

Result<std::vector<TokenId>> ChatEncoder::encode(Conversation conversation,
                                                 std::chrono::local_seconds now,
                                                 std::size_t max_tokens) const {
  if (!template_) return template_.error();
  ChatTemplateInput input;
  if (text_arguments_) make_arguments_text(conversation.messages);
  if (named_ids_) name_call_ids(conversation.messages);
  json::value messages = std::move(conversation.messages);
  json::value tools = std::move(conversation.tools);
  json::value kwargs = std::move(conversation.chat_template_kwargs);
  const auto literals = LiteralTexts::mark(std::array{&messages, &tools, &kwargs}, tokenizer_);
  if (!literals) return in_messages(literals.error());
  input.messages = std::move(messages.as_array());
  input.tools = std::move(tools);
  input.kwargs = std::move(kwargs.as_object());
  input.add_generation_prompt = conversation.add_generation_prompt;
  input.special_tokens = special_tokens_;
  TemplateLimits limits;
  const std::size_t largest = limits.output_bytes;
  // Marks are bytes of the prompt that no token stands for.
  if (!literals->any()) limits.output_bytes = useful_bytes(tokenizer_, max_tokens, largest);
  auto prompt = template_->render(input, now, limits);
  if (!prompt) {
    if (prompt.error().code == TextErrc::kBadTemplateKwarg) return prompt.error();
    const bool useless =
        prompt.error().code == TextErrc::kTemplateOutput && limits.output_bytes < largest;
    return in_messages(useless ? too_many_tokens(max_tokens + 1) : prompt.error());
  }
  const std::vector<std::size_t> places = literals->take_marks(*prompt);
  std::vector<TokenId> ids;
  const auto encoded = tokenizer_.encode(*prompt,
                                         {.add_special = false,
                                          .parse_special = kParseSpecial,
                                          .literals = places,
                                          .max_tokens = max_tokens},
                                         ids);
  if (!encoded) return in_messages(encoded.error());
  return ids;
}

std::chrono::local_seconds wall_clock() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return std::chrono::local_seconds(now.time_since_epoch());
}

}  // namespace weft
