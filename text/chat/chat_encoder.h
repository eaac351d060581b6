#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/text/chat/chat_template.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// What a client says of a conversation, by the names on the wire.
struct Conversation {
  /// Objects with "role" and "content". Calls in "tool_calls" have objects as arguments, which
  /// become texts where the template wants those.
  boost::json::array messages{};
  boost::json::value tools{};  ///< null: none
  boost::json::object chat_template_kwargs{};
  bool add_generation_prompt = true;  ///< up to where the answer begins
};

/// Makes a model's tokens of conversations, by its chat template. Immutable and cheap to copy;
/// thread-safe.
class ChatEncoder {
 public:
  /// `source` is Jinja. One that is empty or wrong is told by problem().
  ChatEncoder(Tokenizer tokenizer, std::string_view source);
  /// By the tokenizer's own template.
  explicit ChatEncoder(const Tokenizer& tokenizer);

  /// Why there can be no conversations, if so: kBadTemplate, "there is no chat template" or
  /// "chat_template:3:5: why", and kTemplateLimit. It is the model's and no request's fault.
  [[nodiscard]] std::optional<Error> problem() const {
    if (template_) return std::nullopt;
    return template_.error();
  }

  /// The prompt, with the special tokens that the template writes and no others: such a token's
  /// text in the conversation stays text. `now` is what the template is told of the time. More than
  /// `max_tokens` are of no use, as in EncodeOptions: rendering ends once the prompt has too many
  /// bytes for them.
  ///
  /// Errors: that of problem(); kTooManyTokens. All others begin with the field. "messages: ":
  /// kTemplateFailed and kTemplateLimit, as it is or with this conversation; kTemplateOutput and
  /// kTextTooLarge. "chat_template_kwargs: ": kBadTemplateKwarg, a name that is not in
  /// kRequestTemplateVariables.
  [[nodiscard]] Result<std::vector<TokenId>> encode(
      Conversation conversation, std::chrono::local_seconds now,
      std::size_t max_tokens = std::numeric_limits<std::size_t>::max()) const;

 private:
  Tokenizer tokenizer_;
  Result<ChatTemplate> template_;
  boost::json::object special_tokens_;
  bool text_arguments_ = false;  ///< of calls
  bool named_ids_ = false;       ///< ids of calls name their functions
};

/// The time by the system's clock, in UTC, for ChatEncoder::encode().
[[nodiscard]] std::chrono::local_seconds wall_clock();

}  // namespace weft
