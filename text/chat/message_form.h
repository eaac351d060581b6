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

/// The member that holds a model's arguments when they are no JSON object.
inline constexpr std::string_view kInvalidArguments = "INVALID_JSON";

/// The forms that a chat template wants for calls' arguments and for contents that are lists of
/// parts. Clients write both in several ways. The constructor finds the forms by rendering short
/// conversations. Immutable, thread-safe.
class MessageForm {
 public:
  /// `special_tokens` are those of ChatTemplateInput.
  MessageForm(const ChatTemplate& chat_template, const boost::json::object& special_tokens);

  /// Brings messages into the template's form:
  /// - The arguments of a call become an object, or its text where the template wants texts.
  ///   Missing arguments, null, [] and an empty text become an empty object. A text that is no JSON
  ///   object, e.g. from a call that was cut, stays unchanged; where the template takes only
  ///   objects, it becomes the member kInvalidArguments of an object.
  /// - A content that is a list of text parts stays a list where the template takes lists for that
  ///   role. Elsewhere newlines join the parts.
  void apply(boost::json::array& messages) const;

  /// Returns whether the template wants the arguments of calls as texts.
  [[nodiscard]] bool wants_text_arguments() const noexcept { return wants_texts_; }

 private:
  void settle_content(boost::json::object& message) const;
  void settle_calls(boost::json::object& message) const;
  [[nodiscard]] boost::json::value settled(const boost::json::value* arguments) const;

  bool wants_texts_ = false;                       ///< arguments of calls are texts
  bool takes_texts_ = false;                       ///< arguments may also be texts that are no JSON
  std::set<std::string, std::less<>> list_roles_;  ///< roles whose contents may be lists
};

}  // namespace weft
