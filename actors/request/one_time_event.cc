#include "weft/actors/request/one_time_event.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <optional>

namespace weft {

std::uint64_t OneTimeEvent::next_place() noexcept {
  const std::scoped_lock lock(mutex_);
  return ++places_;
}

void OneTimeEvent::add(std::uint64_t place, PendingCompletion&& completion) {
  {
    const std::scoped_lock lock(mutex_);
    if (!fired_) {
      waiting_.push_back({.place = place, .completion = std::move(completion)});
      return;
    }
  }
  std::move(completion).post({});
}

void OneTimeEvent::fire() noexcept {
  std::vector<Waiting> waiting;
  {
    const std::scoped_lock lock(mutex_);
    fired_ = true;
    waiting.swap(waiting_);
  }
  for (Waiting& one : waiting) std::move(one.completion).post({});
}

void OneTimeEvent::cancel(std::uint64_t place, boost::asio::cancellation_type type) noexcept {
  if (type == boost::asio::cancellation_type::none) return;
  std::optional<PendingCompletion> completion;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(waiting_, place, &Waiting::place);
    if (found == waiting_.end()) return;
    completion.emplace(std::move(found->completion));
    waiting_.erase(found);
  }
  std::move(*completion).post(boost::asio::error::operation_aborted);
}

}  // namespace weft
