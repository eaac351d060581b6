#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <string>
#include <utility>

#include "weft/core/error/error.h"
#include "weft/text/chat/chat_template.h"

namespace weft {

/// The last message of a conversation, where the model is to go on with it instead of answering it:
/// the prompt then ends with the message's text, before what the template writes behind it. As
/// transformers' continue_final_message does it: a mark goes behind the text, and the rendered
/// prompt is cut at it.
class FinalMessage {
 public:
  /// Puts the mark behind the text of the last message, which must be the assistant's, and without
  /// calls. kTemplateFailed says what it is instead.
  [[nodiscard]] static Result<FinalMessage> mark(boost::json::array& messages);

  /// Cuts a rendered prompt behind the message's text. kTemplateFailed where the template has not
  /// written that text.
  [[nodiscard]] Result<void> cut(RenderedPrompt& prompt) const;

 private:
  explicit FinalMessage(std::string mark) : mark_(std::move(mark)) {}

  std::string mark_;
};

/// Returns the text that is continued: of an assistant's message its content, or of a list of parts
/// the last text, or its thoughts where those are all that it has. Null where there is none.
[[nodiscard]] const boost::json::string* continued_text(const boost::json::object& message);

}  // namespace weft
