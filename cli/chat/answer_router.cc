#include "weft/cli/chat/answer_router.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "weft/cli/chat/response_messages.h"

namespace weft::cli {

void AnswerRouter::on_message(std::string_view message) {
  auto event = parse_event(message);
  if (!event) return;
  if (event->id.empty() && active_.size() == 1) event->id = active_.begin()->first;
  if (!active_.contains(event->id)) return;
  if (const auto* text = std::get_if<std::string>(&event->news)) {
    return listener_.on_text(event->id, *text);
  }
  if (const auto* thought = std::get_if<AnswerThought>(&event->news)) {
    return listener_.on_thought(event->id, thought->text);
  }
  if (auto* call = std::get_if<AnswerCall>(&event->news)) {
    return listener_.on_call(event->id, std::move(*call));
  }
  active_.erase(event->id);
  listener_.on_end(event->id, std::get<AnswerEnd>(std::move(event->news)));
}

std::size_t AnswerRouter::end_largest(const AnswerEnd& end) {
  const auto largest =
      std::ranges::max_element(active_, {}, [](const auto& answer) { return answer.second; });
  if (largest == active_.end()) return 0;
  const auto [id, bytes] = *largest;
  active_.erase(largest);
  listener_.on_end(id, end);
  return bytes;
}

void AnswerRouter::end_all(const AnswerEnd& end) {
  const auto all = std::exchange(active_, {});
  for (const auto& [id, bytes] : all) listener_.on_end(id, end);
}

}  // namespace weft::cli
