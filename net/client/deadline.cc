#include "weft/net/client/deadline.h"

#include <utility>

namespace weft {

Deadline::Deadline(const boost::asio::any_io_executor& executor, std::chrono::milliseconds limit,
                   std::function<void()> break_off)
    : state_(std::make_shared<State>(executor)) {
  state_->break_off = std::move(break_off);
  state_->timer.expires_after(limit);
  state_->timer.async_wait([state = state_](boost::system::error_code error) {
    // The function is empty when its owner was destroyed between the expiry and this call.
    if (error || !state->break_off) return;
    state->expired = true;
    state->break_off();
  });
}

Deadline::~Deadline() {
  state_->break_off = nullptr;
  state_->timer.cancel();
}

}  // namespace weft
