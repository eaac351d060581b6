#include "weft/text/format/call_reader.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

bool may_be_in_name(char c) {
  constexpr std::string_view kNever = "\"'`<>{}()[]=,;\\|";
  return static_cast<unsigned char>(c) > ' ' && kNever.find(c) == std::string_view::npos;
}

}  // namespace

bool CallSink::begin(std::string_view name) {
  const std::string id = std::exchange(id_, {});
  if (name.empty() || name.size() > kMaxName || !std::ranges::all_of(name, may_be_in_name)) {
    return false;
  }
  if (known_only_ && !tools_.knows(name)) return false;
  if (!id.empty()) out_->add(PieceKind::kCallId, id);
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

}  // namespace weft
