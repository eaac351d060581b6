#include "weft/actors/request/active_request.h"

#include "weft/actors/defaults.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/failure.h"
#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

/// Fills in times that the Finish lacks from the times that the request
/// knows.
void fill_in(RequestTimes& times, const RequestTimes& known) noexcept {
  const auto fill = [](TimePoint& time, TimePoint value) {
    if (time == TimePoint{}) time = value;
  };
  fill(times.arrived, known.arrived);
  fill(times.queued, known.queued);
  fill(times.started, known.started);
  fill(times.first_token, known.first_token);
  fill(times.ended, known.ended);
}

}  // namespace

EndingRequests::~EndingRequests() {
  take_all([](const std::shared_ptr<ActiveRequest>& /*nobody is left to end it*/) {});
}

void EndingRequests::push(std::shared_ptr<ActiveRequest> request) noexcept {
  ActiveRequest* const entry = request.get();
  entry->self_while_ending_ = std::move(request);
  ActiveRequest* newest = newest_.load(std::memory_order_relaxed);
  do {
    entry->next_ending_ = newest;
  } while (!newest_.compare_exchange_weak(newest, entry, std::memory_order_release,
                                          std::memory_order_relaxed));
  // From here on the entry belongs to the thread that takes the list. Only the first push onto an
  // empty list wakes the scheduler, which then finds later entries as well.
  if (newest == nullptr && wake_) wake_();
}

EndingRequests::Chain EndingRequests::take_chain() noexcept {
  ActiveRequest* entry = newest_.exchange(nullptr, std::memory_order_acquire);
  ActiveRequest* oldest = nullptr;
  while (entry != nullptr) {
    ActiveRequest* const older = std::exchange(entry->next_ending_, oldest);
    oldest = std::exchange(entry, older);
  }
  return Chain(oldest);
}

std::shared_ptr<ActiveRequest> EndingRequests::Chain::next() noexcept {
  if (first_ == nullptr) return nullptr;
  ActiveRequest* const entry = std::exchange(first_, first_->next_ending_);
  entry->next_ending_ = nullptr;
  return std::move(entry->self_while_ending_);
}

ActiveRequest::ActiveRequest(RequestId id, Request request, std::shared_ptr<RequestSink> sink,
                             TimePoint arrived)
    : id_(id), request_(std::move(request)), sink_(std::move(sink)) {
  times_.arrived = arrived;
}

void ActiveRequest::set_ending(const std::shared_ptr<EndingRequests>& ending) noexcept {
  ending_ = ending;
  has_ending_.store(true);
}

void ActiveRequest::set_early_ending(const std::shared_ptr<EndingRequests>& ending) noexcept {
  if (has_early_ending_.load()) return;  // another thread may be reading the list
  early_ending_ = ending;
  has_early_ending_.store(true);
}

bool ActiveRequest::ask_to_end(EndCause cause) noexcept {
  if (cause == EndCause::kNone || finished()) return false;
  EndCause none = EndCause::kNone;
  if (!cause_.compare_exchange_strong(none, cause)) return false;
  const bool is_late = has_ending_.load();
  if (!is_late && !has_early_ending_.load()) return true;
  const auto ending = (is_late ? ending_ : early_ending_).lock();
  if (ending) ending->push(shared_from_this());
  return true;
}

void ActiveRequest::let_pass(
    std::shared_ptr<const std::vector<std::string>> not_enforced) noexcept {
  if (!finished()) sink_->let_pass(std::move(not_enforced));
}

void ActiveRequest::admit(std::int32_t prompt_tokens) noexcept {
  if (!finished()) sink_->admit(prompt_tokens);
}

void ActiveRequest::deliver(const DeltaView& delta) noexcept {
  if (!finished()) sink_->deliver(delta);
}

void ActiveRequest::finish(Finish&& finish) noexcept {
  if (finished_.exchange(true, std::memory_order_acq_rel)) {
    internal_error_noexcept("a request is finished twice");
    return;
  }
  fill_in(finish.times, times_);
  if (on_finished_) on_finished_(finish);
  on_finished_ = nullptr;  // what it captured may hold this request
  sink_->finish(std::move(finish));
  kept_ = nullptr;
  if (const auto owner = std::move(owner_)) owner->ended(*this);
}

RequestTicket& RequestTicket::operator=(RequestTicket&& other) noexcept {
  if (this != &other) {
    RequestTicket lost(std::move(*this));
    request_ = std::move(other.request_);
  }
  return *this;
}

RequestTicket::~RequestTicket() {
  if (request_) std::move(*this).fail({EngineErrc::kInternal, {}});
}

void RequestTicket::finish(Finish&& finish) && noexcept {
  const std::shared_ptr<ActiveRequest> request = std::move(request_);
  if (request == nullptr) {
    internal_error_noexcept("a ticket is used twice");
    return;
  }
  request->finish(std::move(finish));
}

void RequestTicket::fail(Error error) && noexcept {
  error = request_failure(std::move(error));
  Finish finish;
  finish.reason =
      error.code == EngineErrc::kCancelled ? FinishReason::kCancelled : FinishReason::kError;
  if (error.code == EngineErrc::kOverloaded || error.code == EngineErrc::kGrammarsFull) {
    finish.retry_after = defaults::kRetryAfter;
  }
  finish.error = std::move(error);
  std::move(*this).finish(std::move(finish));
}

}  // namespace weft
