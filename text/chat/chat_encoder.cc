#include "weft/text/chat/chat_encoder.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/error/checked.h"
#include "weft/text/chat/call_ids.h"
#include "weft/text/chat/final_message.h"
#include "weft/text/chat/literal_texts.h"
#include "weft/text/chat/message_form.h"
#include "weft/text/output/incremental_detokenizer.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

namespace json = boost::json;

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

// The template may write special tokens.
constexpr bool kParseSpecial = true;

/// Returns the bytes beyond which a prompt surely has more than `max_tokens`, or `limit` if that is
/// less.
std::size_t useful_bytes(const Tokenizer& tokenizer, std::size_t max_tokens, std::size_t limit) {
  const auto longest = tokenizer.bytes_per_token(kParseSpecial);
  const auto most = longest ? checked_multiply(*longest, max_tokens) : std::nullopt;
  return most ? std::min(limit, *most) : limit;
}

bool has_tools(const Conversation& conversation) {
  const json::array* const list = conversation.tools.if_array();
  return list != nullptr ? !list->empty() : !conversation.tools.is_null();
}

// A prompt with too many tokens is not reported about a field, because the caller explains the
// bound.
Error in_messages(const Error& error) {
  if (error.code == TextErrc::kTooManyTokens) return error;
  return {error.code, "messages: " + error.detail};
}

constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

/// Returns where each token ends in the text; nothing where they do not decode to it.
std::optional<std::vector<std::size_t>> token_ends(const Tokenizer& tokenizer,
                                                   std::span<const TokenId> ids,
                                                   std::string_view text) {
  IncrementalDetokenizer detokenizer(tokenizer, false);
  detokenizer.track_ends();
  std::string decoded;
  for (const TokenId id : ids) {
    if (!detokenizer.push(id, decoded)) return std::nullopt;
  }
  detokenizer.finish(decoded);
  std::vector<std::size_t> ends;
  detokenizer.take_ends(ends);
  if (decoded != text || ends.size() != ids.size()) return std::nullopt;
  return ends;
}

/// Returns the tokens that have a byte of the range.
MarkedPrompt::Answer tokens_in(std::span<const std::size_t> ends, jinja::ByteRange range) {
  const auto first = std::ranges::upper_bound(ends, range.begin);
  // The token that has the last byte is the first that ends at its end or behind it.
  auto last = std::ranges::lower_bound(ends, range.end);
  if (last != ends.end()) ++last;
  const bool is_empty = range.begin == range.end;
  const auto begin = static_cast<std::size_t>(first - ends.begin());
  return {begin, is_empty ? begin : static_cast<std::size_t>(last - ends.begin())};
}

}  // namespace

struct ChatEncoder::Way {
  ChatTemplate chat_template;
  MessageForm form;
  bool named_ids;  ///< ids of calls name their functions
};

ChatEncoder::ChatEncoder(Tokenizer tokenizer, std::string_view source, std::string_view tool_source)
    : tokenizer_(std::move(tokenizer)),
      special_tokens_(special_tokens_of(tokenizer_)),
      plain_(read(source, "chat_template")),
      with_tools_(tool_source.empty() ? plain_ : read(tool_source, "chat_template.tool_use")) {
  if (plain_) {
    roles_ = role_order_of((*plain_)->chat_template, special_tokens_,
                           (*plain_)->form.wants_text_arguments());
  }
}

ChatEncoder::ChatEncoder(const Tokenizer& tokenizer)
    : ChatEncoder(tokenizer, tokenizer.chat_template(), tokenizer.tool_chat_template()) {}

ChatEncoder::SharedWay ChatEncoder::read(std::string_view source, std::string_view name) const {
  if (!tokenizer_.exists()) return no_tokenizer();
  if (source.empty()) return Error{TextErrc::kBadTemplate, "the model has no chat template"};
  auto parsed = ChatTemplate::parse(source, name);
  if (!parsed) return parsed.error();
  return std::make_shared<const Way>(Way{*parsed, MessageForm(*parsed, special_tokens_),
                                         wants_named_ids(*parsed, special_tokens_)});
}

Result<RenderedPrompt> ChatEncoder::render(Conversation conversation,
                                           std::chrono::local_seconds now,
                                           std::size_t max_tokens) const {
  const SharedWay& way = has_tools(conversation) ? with_tools_ : plain_;
  if (!way) return way.error();
  (*way)->form.apply(conversation.messages);
  ChatTemplateInput input;
  if ((*way)->named_ids) name_call_ids(conversation.messages);
  std::optional<FinalMessage> final_message;
  if (conversation.continue_final_message) {
    auto marked = FinalMessage::mark(conversation.messages);
    if (!marked) return in_messages(marked.error());
    final_message = *std::move(marked);
  }
  input.messages = std::move(conversation.messages);
  input.tools = std::move(conversation.tools);
  input.kwargs = std::move(conversation.chat_template_kwargs);
  input.add_generation_prompt = conversation.add_generation_prompt && !final_message;
  input.special_tokens = special_tokens_;
  TemplateLimits limits;
  const std::size_t largest = limits.output_bytes;
  // The text that the template writes after the final message is cut off.
  if (!final_message) limits.output_bytes = useful_bytes(tokenizer_, max_tokens, largest);
  auto prompt = (*way)->chat_template.render_prompt(input, now, limits);
  if (!prompt) {
    if (prompt.error().code == TextErrc::kBadTemplateKwarg) return prompt.error();
    const bool useless =
        prompt.error().code == TextErrc::kTemplateOutput && limits.output_bytes < largest;
    return in_messages(useless ? too_many_tokens(max_tokens + 1) : prompt.error());
  }
  if (final_message) {
    if (const auto cut = final_message->cut(*prompt); !cut) return in_messages(cut.error());
  }
  return prompt;
}

Result<std::vector<TokenId>> ChatEncoder::tokens_of(const RenderedPrompt& prompt,
                                                    std::size_t max_tokens) const {
  const std::vector<std::size_t> literals = literal_starts(prompt, tokenizer_);
  std::vector<TokenId> ids;
  const auto encoded = tokenizer_.encode(prompt.text,
                                         {.add_special = false,
                                          .parse_special = kParseSpecial,
                                          .literals = literals,
                                          .max_tokens = max_tokens},
                                         ids);
  if (!encoded) return in_messages(encoded.error());
  return ids;
}

Result<std::vector<TokenId>> ChatEncoder::encode(Conversation conversation,
                                                 std::chrono::local_seconds now,
                                                 std::size_t max_tokens) const {
  const auto prompt = render(std::move(conversation), now, max_tokens);
  if (!prompt) return prompt.error();
  return tokens_of(*prompt, max_tokens);
}

Result<MarkedPrompt> ChatEncoder::encode_marked(Conversation conversation,
                                                std::chrono::local_seconds now) const {
  const auto prompt = render(std::move(conversation), now, kAnyNumber);
  if (!prompt) return prompt.error();
  auto ids = tokens_of(*prompt, kAnyNumber);
  if (!ids) return ids.error();
  MarkedPrompt marked{*std::move(ids), {}};
  if (prompt->generated.empty()) return marked;
  const auto ends = token_ends(tokenizer_, marked.ids, prompt->text);
  if (!ends) return marked;
  for (const jinja::ByteRange& range : prompt->generated)
    marked.answers.push_back(tokens_in(*ends, range));
  return marked;
}

std::chrono::local_seconds wall_clock() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return std::chrono::local_seconds(now.time_since_epoch());
}

}  // namespace weft
