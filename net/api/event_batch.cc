#include "weft/net/api/event_batch.h"

namespace weft {

void EventBatch::begin(std::string_view name) {
  if (framing_ != Framing::kSse) return;
  if (!name.empty()) bytes_.append("event: ").append(name).push_back('\n');
  bytes_.append("data: ");
}

void EventBatch::end() {
  if (framing_ == Framing::kSse) bytes_.append("\n\n");
  if (framing_ == Framing::kLines) bytes_.push_back('\n');
  if (framing_ == Framing::kWebSocket) ends_.push_back(bytes_.size());
}

void EventBatch::add_comment(std::string_view text) {
  if (framing_ == Framing::kSse) bytes_.append(": ").append(text).append("\n\n");
}

void EventBatch::add(std::string_view json, std::string_view name) {
  begin(name);
  bytes_.append(json);
  end();
}

void EventBatch::clear() noexcept {
  bytes_.clear();
  ends_.clear();
}

}  // namespace weft
