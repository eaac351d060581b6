#pragma once

#include <boost/json/value.hpp>
#include <memory>
#include <string>

#include "weft/grammar/structured_output.h"
#include "weft/grammar/tool_choice.h"
#include "weft/text/format/model_format.h"

namespace weft {

/// The parts of an output that is more than one text: thoughts, calls and an answer, in the form of
/// the model's family. Borrows the values behind its pointers.
struct AnswerForm {
  const ModelFormat* format = nullptr;
  const boost::json::value* tools = nullptr;  ///< Request::tools; null: there are no tools to call
  ToolChoice choice{};
  bool one_call = false;      ///< the output has at most one call
  bool in_thought = false;    ///< the prompt has opened a thought already
  bool in_text = false;       ///< the prompt has begun the text behind the thoughts
  StructuredOutput answer{};  ///< the required form of an answer; kNone: any text
};

}  // namespace weft
