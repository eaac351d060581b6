#include "weft/cli/chat/answer_inbox.h"

#include <algorithm>

namespace weft::cli {

void AnswerInbox::on_text(const std::string& id, std::string_view text) {
  add(id, [text](AnswerNews& news) { news.text += text; });
}

void AnswerInbox::on_thought(const std::string& id, std::string_view text) {
  add(id, [text](AnswerNews& news) { news.thoughts += text; });
}

void AnswerInbox::on_call(const std::string& id, AnswerCall call) {
  add(id, [&call](AnswerNews& news) { news.calls.push_back(std::move(call)); });
}

void AnswerInbox::on_end(const std::string& id, AnswerEnd end) {
  add(id, [&end](AnswerNews& news) { news.end = std::move(end); });
}

void AnswerInbox::add(const std::string& id, const std::function<void(AnswerNews&)>& change) {
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    first = news_.empty();
    auto found = std::ranges::find(news_, id, &AnswerNews::id);
    if (found == news_.end()) found = news_.insert(found, {.id = id});
    change(*found);
  }
  if (first) wake_();
}

std::vector<AnswerNews> AnswerInbox::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(news_, {});
}

}  // namespace weft::cli
