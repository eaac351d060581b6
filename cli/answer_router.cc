#include "weft/cli/answer_router.h"

#include <utility>
#include <variant>

#include "weft/cli/response_messages.h"

namespace weft::cli {

void AnswerRouter::on_message(std::string_view message) {
  auto event = parse_event(message);
  if (!event) return;
  if (event->id.empty() && active_.size() == 1) event->id = *active_.begin();
  if (!active_.contains(event->id)) return;
  if (const auto* text = std::get_if<std::string>(&event->news)) {
    return listener_.on_text(event->id, *text);
  }
  active_.erase(event->id);
  listener_.on_end(event->id, std::get<AnswerEnd>(std::move(event->news)));
}

void AnswerRouter::end_all(const AnswerEnd& end) {
  const auto all = std::exchange(active_, {});
  for (const std::string& id : all) listener_.on_end(id, end);
}

}  // namespace weft::cli
