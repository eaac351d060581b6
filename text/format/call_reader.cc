#include "weft/text/format/call_reader.h"

#include <algorithm>

namespace weft {
namespace {

bool may_be_in_name(char c) {
  constexpr std::string_view kNever = "\"'`<>{}()[]=,;\\|";
  return static_cast<unsigned char>(c) > ' ' && kNever.find(c) == std::string_view::npos;
}

}  // namespace

bool CallSink::begin(std::string_view name) {
  if (name.empty() || name.size() > kMaxName || !std::ranges::all_of(name, may_be_in_name)) {
    return false;
  }
  if (known_only_ && !tools_.knows(name)) return false;
  out_->add(PieceKind::kCallName, name);
  in_call_ = true;
  ++begun_;
  return true;
}

void CallSink::end() {
  out_->add(PieceKind::kCallEnd, {});
  in_call_ = false;
  ++ended_;
}

std::unique_ptr<CallReader> make_call_reader(const CallSyntax& syntax) {
  switch (syntax.body) {
    case CallBody::kNone:
    case CallBody::kJson:
      break;
    case CallBody::kNamed:
      return make_named_call(syntax);
    case CallBody::kTagged:
      return make_tagged_call(syntax);
    case CallBody::kPython:
      return make_python_calls();
  }
  return make_json_calls(syntax);
}

}  // namespace weft
