#include "weft/cli/chat/answer_inbox.h"

#include <algorithm>

namespace weft::cli {

void AnswerInbox::on_text(const std::string& id, std::string_view text) {
  add(id, text, std::nullopt);
}

void AnswerInbox::on_end(const std::string& id, AnswerEnd end) { add(id, {}, std::move(end)); }

void AnswerInbox::add(const std::string& id, std::string_view text, std::optional<AnswerEnd> end) {
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    first = news_.empty();
    auto found = std::ranges::find(news_, id, &AnswerNews::id);
    if (found == news_.end()) found = news_.insert(found, {.id = id});
    found->text += text;
    if (end) found->end = std::move(end);
  }
  if (first) wake_();
}

std::vector<AnswerNews> AnswerInbox::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(news_, {});
}

}  // namespace weft::cli
