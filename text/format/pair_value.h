#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/text/format/call_reader.h"
#include "weft/text/format/json_span.h"
#include "weft/text/format/tag_scanner.h"

namespace weft {

/// Writes an object of CallBody::kPairs as JSON while it arrives: {key:value,...}. Keys are bare,
/// texts stand between two tags, and numbers, true, false, null, objects and lists are as in JSON.
/// JSON's quotation marks are accepted as well, and any other bare value is a text. A text ends
/// only where a comma, a colon or a closing bracket follows its tag. Owner only.
class PairValue {
 public:
  enum class Step : std::uint8_t { kMore, kLast, kBroken };

  /// The sink knows the types of `function`'s parameters; the syntax is borrowed.
  PairValue(const CallSyntax& syntax, std::string_view function);

  /// Takes the next byte; the first one is the bracket that opens the object.
  Step push(char c, CallSink& sink);

 private:
  enum class State : std::uint8_t {
    kOpen,
    kKey,  ///< before a key, or the end
    kBareKey,
    kColon,
    kValue,  ///< before a value, or before the end of a list
    kTag,    ///< inside a possible tag that opens a text
    kText,
    kAfterText,  ///< after a tag that ends texts, unless no comma, colon or bracket follows
    kJsonText,
    kBare,
    kAfter,  ///< after a value
  };

  [[nodiscard]] bool in_object() const noexcept { return !open_.empty() && open_.back() == '}'; }

  Step push_key(char c, CallSink& sink);
  Step push_bare_key(char c, CallSink& sink);
  Step push_colon(char c);
  Step push_value(char c, CallSink& sink);
  Step push_tag(char c, CallSink& sink);
  Step push_text(char c, CallSink& sink);
  Step push_after_text(char c, CallSink& sink);
  Step push_json_text(char c, CallSink& sink);
  Step push_bare(char c, CallSink& sink);
  Step push_after(char c, CallSink& sink);

  Step open(char c, CallSink& sink);
  Step close(char c, CallSink& sink);
  void begin_item(CallSink& sink);
  void begin_text(State state, CallSink& sink);
  void end_text(CallSink& sink);
  void end_bare(CallSink& sink);
  void end_key(CallSink& sink);
  void write_text(std::string_view text, CallSink& sink);

  const CallSyntax& syntax_;
  const std::string function_;
  State state_ = State::kOpen;
  std::string open_;        // the closing brackets that must still come
  bool first_ = true;       // nothing has come in the innermost bracket yet
  bool is_key_ = false;     // the text is a key
  bool bare_text_ = false;  // the bare value is so long that it must be a text
  std::string key_;         // the last key of the outer object
  std::string word_;        // bytes of a tag, a key or a bare value; white space after a text
  std::string escaped_;
  JsonStringDecoder string_;
  TagScanner scanner_;
};

}  // namespace weft
