#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/text/chat/chat_template.h"
#include "weft/text/chat/role_order.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// A client's conversation; the members have the HTTP API's names.
struct Conversation {
  /// Objects with "role" and "content", a text or a list of parts {"type": "text", "text"}. Calls
  /// in "tool_calls" have objects as arguments, or texts where a model wrote no JSON object.
  /// Messages are changed into the form that the template wants.
  boost::json::array messages{};
  boost::json::value tools{};  ///< null: none
  boost::json::object chat_template_kwargs{};
  bool add_generation_prompt = true;  ///< the prompt ends with the beginning of an answer
  /// The prompt ends with the text of the last message, which is the assistant's and which the
  /// model continues (final_message.h). It then has no generation prompt.
  bool continue_final_message = false;
};

/// A prompt's tokens, and the answers that the chat template marks.
struct MarkedPrompt {
  /// Tokens begin .. end - 1 of the prompt.
  struct Answer {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::vector<TokenId> ids{};
  /// One for each {% generation %} block, in their order. Empty where the template has none, and
  /// where the tokens do not decode to the prompt's text, so that a mark's tokens are unknown.
  std::vector<Answer> answers{};
};

/// Turns conversations into a model's tokens, by its chat template. Immutable and cheap to copy;
/// thread-safe.
class ChatEncoder {
 public:
  /// `source` is Jinja; problem() reports a template that is empty or wrong. `tool_source` is the
  /// template for conversations with tools; empty: `source` is used.
  ChatEncoder(Tokenizer tokenizer, std::string_view source, std::string_view tool_source = {});
  /// Uses the tokenizer's own templates.
  explicit ChatEncoder(const Tokenizer& tokenizer);

  /// Returns why conversations do not work; nothing if they work. kBadTemplate, "there is no chat
  /// template" or "chat_template:3:5: why"; kTemplateLimit; kNoTokenizer. The fault is the model's,
  /// not a request's.
  [[nodiscard]] std::optional<Error> problem() const {
    if (plain_) return std::nullopt;
    return plain_.error();
  }

  /// The orders of roles that the template accepts.
  [[nodiscard]] const RoleOrder& roles() const noexcept { return roles_; }

  /// Returns the prompt, with only those special tokens that the template writes: the text of a
  /// special token in the conversation stays text. `now` is the template's time. The caller cannot
  /// use more than `max_tokens`, as in EncodeOptions, so rendering ends once the prompt has too
  /// many bytes for them.
  ///
  /// Errors: that of problem(); kTooManyTokens. All others begin with the field. "messages: ":
  /// kTemplateFailed and kTemplateLimit of the template with this conversation, or a last message
  /// that cannot be continued; kTemplateOutput and kTextTooLarge. "chat_template_kwargs: ":
  /// kBadTemplateKwarg, a name that ChatTemplate::render_prompt() refuses.
  [[nodiscard]] Result<std::vector<TokenId>> encode(
      Conversation conversation, std::chrono::local_seconds now,
      std::size_t max_tokens = std::numeric_limits<std::size_t>::max()) const;

  /// As encode(), with the tokens of the template's {% generation %} blocks: those that have any
  /// byte of a block's text.
  [[nodiscard]] Result<MarkedPrompt> encode_marked(Conversation conversation,
                                                   std::chrono::local_seconds now) const;

 private:
  /// A template, and the form in which it wants messages.
  struct Way;
  using SharedWay = Result<std::shared_ptr<const Way>>;

  [[nodiscard]] SharedWay read(std::string_view source, std::string_view name) const;
  [[nodiscard]] Result<RenderedPrompt> render(Conversation conversation,
                                              std::chrono::local_seconds now,
                                              std::size_t max_tokens) const;
  [[nodiscard]] Result<std::vector<TokenId>> tokens_of(const RenderedPrompt& prompt,
                                                       std::size_t max_tokens) const;

  Tokenizer tokenizer_;
  boost::json::object special_tokens_;
  SharedWay plain_;
  SharedWay with_tools_;  ///< equal to plain_ where the model has one template
  RoleOrder roles_{};     ///< the orders that plain_ accepts
};

/// Returns the system clock's time, in UTC, for ChatEncoder::encode().
[[nodiscard]] std::chrono::local_seconds wall_clock();

}  // namespace weft
