#include "weft/core/gate.h"

#include "weft/core/error/internal_error.h"

namespace weft {

bool Gate::State::enter() noexcept {
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  do {
    if ((word & kClosed) != 0) return false;
  } while (!word_.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel));
  return true;
}

void Gate::State::leave() noexcept {
  if (word_.fetch_sub(1, std::memory_order_acq_rel) == (kClosed | 1)) call_waiting();
}

void Gate::State::close() noexcept { word_.fetch_or(kClosed, std::memory_order_acq_rel); }

void Gate::State::on_empty(std::function<void()> empty) {
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(empty));
  }
  // From here on the last holder to leave finds the callback; the thread that sees the gate closed
  // and empty calls it.
  if ((word_.fetch_or(kClosed, std::memory_order_acq_rel) & ~kClosed) == 0) call_waiting();
}

void Gate::State::call_waiting() {
  std::vector<std::function<void()>> calls;
  {
    const std::scoped_lock lock(mutex_);
    calls.swap(waiting_);
  }
  for (const auto& call : calls) call();
}

Gate::~Gate() {
  close();
  if (holders() != 0) internal_error_noexcept("a gate is destroyed while it is held");
}

Gate::Holder Gate::try_enter() noexcept { return state_->enter() ? Holder(state_) : Holder(); }

void Gate::close() noexcept { state_->close(); }

bool Gate::closed() const noexcept { return (state_->word() & State::kClosed) != 0; }

std::size_t Gate::holders() const noexcept { return state_->word() & ~State::kClosed; }

void Gate::on_empty(std::function<void()> empty) { state_->on_empty(std::move(empty)); }

}  // namespace weft
