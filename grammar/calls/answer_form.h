#pragma once

#include <boost/json/value.hpp>
#include <memory>
#include <string>

#include "weft/grammar/structured_output.h"
#include "weft/grammar/tool_choice.h"
#include "weft/text/format/model_format.h"

namespace weft {

/// What an output is made of that is more than one text: thoughts, calls and an answer, as the
/// model's family writes them. Borrows what it points to.
struct AnswerForm {
  const ModelFormat* format = nullptr;
  const boost::json::value* tools = nullptr;  ///< Request::tools; null: nothing can be called
  ToolChoice choice{};
  bool one_call = false;      ///< at most one call
  bool in_thought = false;    ///< the prompt has opened a thought already
  bool in_text = false;       ///< the prompt has begun the text behind the thoughts
  StructuredOutput answer{};  ///< what an answer must look like; kNone: any text
};

}  // namespace weft
