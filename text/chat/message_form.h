#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "weft/text/chat/chat_template.h"

namespace weft {

/// The member that holds what a model wrote as arguments and is no JSON object.
inline constexpr std::string_view kInvalidArguments = "INVALID_JSON";

/// How a chat template wants what clients write in more than one way: the arguments of calls, and
/// contents that are lists of parts. It is found out by rendering short conversations both ways.
/// Immutable, thread-safe.
class MessageForm {
 public:
  /// `special_tokens` are those of ChatTemplateInput.
  MessageForm(const ChatTemplate& chat_template, const boost::json::object& special_tokens);

  /// Brings messages into the template's form:
  /// - The arguments of a call become an object, or the text of one where the template wants texts.
  ///   Missing arguments, null, [] and an empty text become an empty object. A text that is no JSON
  ///   object, as that of a call which was cut, goes to the template as it is; where the template
  ///   takes objects alone, it becomes the member kInvalidArguments of one.
  /// - A content that is a list of text parts stays a list where the template takes lists for that
  ///   role. Elsewhere the parts are joined by newlines.
  void apply(boost::json::array& messages) const;

  /// Whether the template wants the arguments of calls as texts.
  [[nodiscard]] bool wants_text_arguments() const noexcept { return wants_texts_; }

 private:
  void settle_content(boost::json::object& message) const;
  void settle_calls(boost::json::object& message) const;
  [[nodiscard]] boost::json::value settled(const boost::json::value* arguments) const;

  bool wants_texts_ = false;                       ///< as the arguments of calls
  bool takes_texts_ = false;                       ///< that are no JSON as arguments, too
  std::set<std::string, std::less<>> list_roles_;  ///< whose contents may be lists
};

}  // namespace weft
