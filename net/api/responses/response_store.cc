#include "weft/net/api/responses/response_store.h"

#include <boost/json/value.hpp>
#include <iterator>
#include <utility>

namespace weft {
namespace {

constexpr std::size_t kLarge = std::size_t{64} << 10;  // bytes of a response that take long to free

/// Returns the bytes that a JSON value takes besides the variable that holds it.
std::size_t bytes_of(const boost::json::value& value) {
  std::size_t bytes = 0;
  if (const auto* text = value.if_string()) {
    bytes = text->capacity();
  } else if (const auto* array = value.if_array()) {
    for (const auto& item : *array) bytes += sizeof item + bytes_of(item);
  } else if (const auto* object = value.if_object()) {
    for (const auto& member : *object) {
      bytes += sizeof member + member.key().size() + bytes_of(member.value());
    }
  }
  return bytes;
}

std::size_t bytes_of(const StoredResponse& response) {
  std::size_t bytes = sizeof response + response.id.size() + response.owner.size();
  bytes += response.object.size();
  if (response.tools) bytes += response.tools->bytes();
  return bytes + response.conversation_bytes;
}

}  // namespace

std::size_t conversation_bytes(const boost::json::array& messages) {
  std::size_t bytes = 0;
  for (const auto& message : messages) bytes += sizeof message + bytes_of(message);
  return bytes;
}

bool ResponseStore::fits(const StoredResponse& response) const {
  return bytes_of(response) <= bounds_.bytes && bounds_.count > 0;
}

void ResponseStore::put(StoredResponse response) {
  response.bytes = bytes_of(response);
  Uses dropped;
  add(std::make_shared<const StoredResponse>(std::move(response)), dropped);
  discard(std::move(dropped));
}

void ResponseStore::add(std::shared_ptr<const StoredResponse> entry, Uses& dropped) {
  const std::scoped_lock lock(mutex_);
  if (const auto old = by_id_.find(entry->id); old != by_id_.end()) drop(old->second, dropped);
  if (!fits(*entry)) return dropped.push_front(std::move(entry));
  while (uses_.size() >= bounds_.count || bytes_ + entry->bytes > bounds_.bytes) {
    drop(std::prev(uses_.end()), dropped);
  }
  bytes_ += entry->bytes;
  uses_.push_front(std::move(entry));
  by_id_.emplace(uses_.front()->id, uses_.begin());
}

void ResponseStore::discard(Uses dropped) const {
  if (!discard_) return;
  for (auto& response : dropped) {
    if (response->bytes >= kLarge) discard_(std::move(response));
  }
}

ResponseStore::Uses::iterator ResponseStore::place_of(std::string_view id, std::string_view owner) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end() || (*found->second)->owner != owner) return uses_.end();
  return found->second;
}

std::shared_ptr<const StoredResponse> ResponseStore::find(std::string_view id,
                                                          std::string_view owner) {
  const std::scoped_lock lock(mutex_);
  const auto found = place_of(id, owner);
  if (found == uses_.end()) return nullptr;
  uses_.splice(uses_.begin(), uses_, found);
  return uses_.front();
}

bool ResponseStore::erase(std::string_view id, std::string_view owner) {
  Uses dropped;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = place_of(id, owner);
    if (found == uses_.end()) return false;
    drop(found, dropped);
  }
  discard(std::move(dropped));
  return true;
}

std::size_t ResponseStore::count() const {
  const std::scoped_lock lock(mutex_);
  return uses_.size();
}

std::size_t ResponseStore::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

void ResponseStore::drop(Uses::iterator entry, Uses& dropped) {
  bytes_ -= (*entry)->bytes;
  by_id_.erase((*entry)->id);
  dropped.splice(dropped.begin(), uses_, entry);
}

}  // namespace weft
