#include "weft/cli/chat_prompt.h"

#include <chrono>
#include <utility>

#include "weft/text/chat_template.h"
#include "weft/text/text_error.h"

namespace weft::cli {
namespace {

namespace json = boost::json;

std::chrono::local_seconds wall_clock() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return std::chrono::local_seconds(now.time_since_epoch());
}

json::object special_tokens(const Tokenizer& tokenizer) {
  json::object tokens;
  for (const auto& [name, id] : {std::pair("bos_token", tokenizer.bos()),
                                 {"eos_token", tokenizer.eos()},
                                 {"unk_token", tokenizer.unknown()},
                                 {"pad_token", tokenizer.padding()}}) {
    if (id == kNoToken) continue;
    if (const auto text = tokenizer.token(id)) tokens[name] = *text;
  }
  return tokens;
}

}  // namespace

json::array one_question(const std::string& system, const std::string& user) {
  json::array messages;
  if (!system.empty()) messages.push_back(json::object{{"role", "system"}, {"content", system}});
  messages.push_back(json::object{{"role", "user"}, {"content", user}});
  return messages;
}

Result<std::vector<TokenId>> chat_tokens(const Tokenizer& tokenizer, json::array messages) {
  if (tokenizer.chat_template().empty()) {
    return Error{TextErrc::kBadTemplate, "the model has no chat template"};
  }
  const auto parsed = ChatTemplate::parse(tokenizer.chat_template(), "the model's chat template");
  if (!parsed) return parsed.error();
  ChatTemplateInput input;
  input.messages = std::move(messages);
  input.add_generation_prompt = true;
  input.special_tokens = special_tokens(tokenizer);
  const auto prompt = parsed->render(input, {}, wall_clock());
  if (!prompt) return prompt.error();
  std::vector<TokenId> ids;
  // The template writes its own special tokens, BOS among them.
  auto encoded = tokenizer.encode(*prompt, {false, true}, ids);
  if (!encoded) return encoded.error();
  return ids;
}

}  // namespace weft::cli
