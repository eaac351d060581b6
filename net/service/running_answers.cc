#include "weft/net/service/running_answers.h"

#include <utility>

namespace weft {

RunningAnswers::Place RunningAnswers::add(Entry entry) {
  std::string id = entry.object_id;
  const std::scoped_lock lock(mutex_);
  slots_[id].entry = std::move(entry);
  return {*this, std::move(id)};
}

bool RunningAnswers::cancel(std::string_view object_id, std::string_view key,
                            std::function<void()> ended) {
  std::shared_ptr<Answer> answer;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = slots_.find(std::string(object_id));
    if (found == slots_.end() || found->second.entry.key != key) return false;
    found->second.on_end.push_back(std::move(ended));
    answer = found->second.entry.answer;
  }
  answer->ask_to_end(EndCause::kCancel);
  return true;
}

std::vector<RunningAnswers::Entry> RunningAnswers::list() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Entry> entries;
  entries.reserve(slots_.size());
  for (const auto& [id, slot] : slots_) entries.push_back(slot.entry);
  return entries;
}

std::size_t RunningAnswers::count() const {
  const std::scoped_lock lock(mutex_);
  return slots_.size();
}

void RunningAnswers::remove(const std::string& id) noexcept {
  Slot slot;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = slots_.find(id);
    if (found == slots_.end()) return;
    slot = std::move(found->second);
    slots_.erase(found);
  }
  for (const auto& call : slot.on_end) call();
}

}  // namespace weft
