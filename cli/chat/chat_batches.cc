#include "weft/cli/chat/chat_batches.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <utility>

#include "weft/core/text/utf8.h"

namespace weft::cli {
namespace {

/// Bytes of a prompt that are shown with its result.
constexpr std::size_t kShownBytes = 70;

std::string prompt_line(const boost::json::value& input) {
  std::string text = "(messages)";
  if (input.is_string()) {
    text = input.as_string();
  } else if (const auto* list = input.if_array(); list != nullptr && !list->empty()) {
    const auto* last = list->back().if_object();
    const auto* content = last == nullptr ? nullptr : last->if_contains("content");
    if (content != nullptr && content->is_string()) text = content->as_string();
  }
  std::ranges::replace(text, '\n', ' ');
  if (text.size() <= kShownBytes) return text;
  return std::string(cut_utf8(text, kShownBytes)) + "...";
}

std::string note_of(const AnswerEnd& end) {
  switch (end.kind) {
    case AnswerEnd::Kind::kCompleted:
      return {};
    case AnswerEnd::Kind::kLength:
      return "(cut: as long as it may be)\n";
    case AnswerEnd::Kind::kCancelled:
      return "(cancelled)\n";
    case AnswerEnd::Kind::kRefused:
    case AnswerEnd::Kind::kFailed:
      break;
  }
  return "(failed: " + end.why + ")\n";
}

}  // namespace

std::size_t ChatBatches::Batch::ended() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(items, [](const Item& item) { return item.end.has_value(); }));
}

std::optional<std::int64_t> ChatBatches::add(std::vector<BatchPrompt> prompts) {
  if (batches_.size() == kMaxBatches) return std::nullopt;
  Batch& batch = batches_.emplace_back();
  batch.number = ++last_number_;
  for (BatchPrompt& prompt : prompts) {
    waiting_.push_back({batch.number, batch.items.size()});
    batch.items.push_back({.prompt = std::move(prompt)});
  }
  return batch.number;
}

std::optional<ChatBatches::Next> ChatBatches::next(Time now) {
  if (waiting_.empty() || running_ >= streams_) return std::nullopt;
  if (paused_until_ && now < *paused_until_) return std::nullopt;
  paused_until_.reset();
  const Place place = waiting_.front();
  waiting_.pop_front();
  ++running_;
  const Item& item = find(place.batch)->items[place.item];
  return Next{id_of(place), &item.prompt};
}

std::optional<ChatBatches::Time> ChatBatches::due() const noexcept {
  if (waiting_.empty() || running_ >= streams_) return std::nullopt;
  return paused_until_;
}

bool ChatBatches::on_news(AnswerNews news, Time now) {
  const auto place = place_of(news.id);
  Batch* const batch = place ? find(place->batch) : nullptr;
  if (batch == nullptr || place->item >= batch->items.size()) return false;
  Item& item = batch->items[place->item];
  item.text += news.text;
  if (!news.end) return true;
  --running_;
  // One stream fewer than were under way: the conversation may need one, too.
  if (news.end->fewer_streams) {
    streams_ = std::max<std::size_t>(1, std::min(streams_, running_) - 1);
  }
  std::optional<Retry::Pause> pause;
  if (news.end->again && !item.cancelled) {
    const bool refused = news.end->kind == AnswerEnd::Kind::kRefused;
    pause = item.retry.after(refused ? Retry::Cause::kRefused : Retry::Cause::kFailed);
  }
  if (pause) {
    wait(*pause, now);
    item.text.clear();
    waiting_.push_front(*place);
    batch->waits_for = std::move(news.end->why);
  } else {
    item.end = std::move(news.end);
    batch->waits_for.clear();
  }
  return true;
}

void ChatBatches::wait(Retry::Pause pause, Time now) {
  const Time until = now + pause;
  paused_until_ = paused_until_ ? std::max(*paused_until_, until) : until;
}

std::optional<std::vector<std::string>> ChatBatches::cancel(std::int64_t number) {
  Batch* const batch = find(number);
  if (batch == nullptr || batch->finished()) return std::nullopt;
  for (const Place& place : waiting_) {
    if (place.batch != number) continue;
    batch->items[place.item].end = AnswerEnd{.kind = AnswerEnd::Kind::kCancelled};
  }
  std::erase_if(waiting_, [number](const Place& place) { return place.batch == number; });
  std::vector<std::string> running;
  for (std::size_t i = 0; i < batch->items.size(); ++i) {
    Item& item = batch->items[i];
    if (item.end) continue;
    item.cancelled = true;
    running.push_back(id_of({number, i}));
  }
  return running;
}

std::optional<ChatBatches::Batch> ChatBatches::take_finished() {
  const auto found = std::ranges::find_if(batches_, &Batch::finished);
  if (found == batches_.end()) return std::nullopt;
  Batch batch = std::move(*found);
  batches_.erase(found);
  return batch;
}

bool ChatBatches::idle() const noexcept { return std::ranges::all_of(batches_, &Batch::finished); }

ChatBatches::Batch* ChatBatches::find(std::int64_t number) noexcept {
  const auto found = std::ranges::find(batches_, number, &Batch::number);
  return found == batches_.end() ? nullptr : &*found;
}

std::string ChatBatches::id_of(const Place& place) {
  return "b" + std::to_string(place.batch) + "-" + std::to_string(place.item);
}

std::optional<ChatBatches::Place> ChatBatches::place_of(const std::string& id) {
  Place place{0, 0};
  const char* const end = id.data() + id.size();
  if (!id.starts_with('b')) return std::nullopt;
  const auto batch = std::from_chars(id.data() + 1, end, place.batch);
  if (batch.ec != std::errc() || batch.ptr == end || *batch.ptr != '-') return std::nullopt;
  const auto item = std::from_chars(batch.ptr + 1, end, place.item);
  if (item.ec != std::errc() || item.ptr != end) return std::nullopt;
  return place;
}

std::string shown(const ChatBatches::Batch& batch) {
  std::string text = "batch " + std::to_string(batch.number) + "\n";
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    const ChatBatches::Item& item = batch.items[i];
    text += "[" + std::to_string(i + 1) + "] " + prompt_line(item.prompt.input) + "\n";
    text += item.text;
    if (!item.text.empty() && !item.text.ends_with('\n')) text += '\n';
    if (item.end) text += note_of(*item.end);
  }
  return text;
}

}  // namespace weft::cli
