#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <string>
#include <utility>

#include "weft/core/error/error.h"
#include "weft/text/chat/chat_template.h"

namespace weft {

/// Marks the last message of a conversation, which the model continues instead of answering it. The
/// prompt then ends with the message's text, before the text that the template writes after it. As
/// in transformers' continue_final_message, a mark is put after the message's text, and the
/// rendered prompt is cut at the mark.
class FinalMessage {
 public:
  /// Puts the mark after the text of the last message. It must be the assistant's message, without
  /// calls; otherwise kTemplateFailed names the reason.
  [[nodiscard]] static Result<FinalMessage> mark(boost::json::array& messages);

  /// Cuts a rendered prompt after the message's text. kTemplateFailed where the template has not
  /// written that text.
  [[nodiscard]] Result<void> cut(RenderedPrompt& prompt) const;

 private:
  explicit FinalMessage(std::string mark) : mark_(std::move(mark)) {}

  std::string mark_;
};

/// Returns the text that the model continues: an assistant message's content, or the last text of a
/// list of parts, or the thoughts where the message has nothing else. Null where there is none.
[[nodiscard]] const boost::json::string* continued_text(const boost::json::object& message);

}  // namespace weft
