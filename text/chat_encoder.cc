#include "weft/text/chat_encoder.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "weft/text/text_error.h"

namespace weft {
namespace {

// The names that chat templates are known to ask for beside the messages.
constexpr std::array<std::string_view, 4> kTemplateKwargs = {
    "enable_thinking", "thinking", "reasoning_effort", "custom_instructions"};

Result<ChatTemplate> parse(std::string_view source) {
  if (source.empty()) return Error{TextErrc::kBadTemplate, "the model has no chat template"};
  return ChatTemplate::parse(source, "chat_template");
}

boost::json::object special_tokens_of(const Tokenizer& tokenizer) {
  boost::json::object special;
  for (const auto& [name, id] : {std::pair("bos_token", tokenizer.bos()),
                                 {"eos_token", tokenizer.eos()},
                                 {"unk_token", tokenizer.unknown()},
                                 {"pad_token", tokenizer.padding()}}) {
    if (id == kNoToken) continue;
    if (const auto text = tokenizer.token(id)) special[name] = *text;
  }
  return special;
}

Error in_messages(const Error& error) { return {error.code, "messages: " + error.detail}; }

}  // namespace

ChatEncoder::ChatEncoder(Tokenizer tokenizer, std::string_view source)
    : tokenizer_(std::move(tokenizer)),
      template_(parse(source)),
      special_tokens_(special_tokens_of(tokenizer_)) {}

ChatEncoder::ChatEncoder(const Tokenizer& tokenizer)
    : ChatEncoder(tokenizer, tokenizer.chat_template()) {}

Result<std::vector<TokenId>> ChatEncoder::encode(Conversation conversation,
                                                 std::chrono::local_seconds now) const {
  if (!template_) return in_messages(template_.error());
  ChatTemplateInput input;
  input.messages = std::move(conversation.messages);
  input.tools = std::move(conversation.tools);
  input.kwargs = std::move(conversation.chat_template_kwargs);
  input.add_generation_prompt = conversation.add_generation_prompt;
  input.special_tokens = special_tokens_;
  const auto prompt = template_->render(input, kTemplateKwargs, now);
  if (!prompt) {
    const bool names_field = prompt.error().code == TextErrc::kBadTemplateKwarg;
    return names_field ? prompt.error() : in_messages(prompt.error());
  }
  std::vector<TokenId> ids;
  const auto encoded =
      tokenizer_.encode(*prompt, {.add_special = false, .parse_special = true}, ids);
  if (!encoded) return in_messages(encoded.error());
  return ids;
}

std::chrono::local_seconds wall_clock() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return std::chrono::local_seconds(now.time_since_epoch());
}

}  // namespace weft
