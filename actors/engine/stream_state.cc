#include "weft/actors/engine/stream_state.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>
#include <new>

#include "weft/core/error/internal_error.h"

namespace weft {

using boost::asio::cancellation_type;

StreamState::StreamState(const Request& request, std::int32_t choices,
                         boost::asio::any_io_executor executor)
    : executor_(std::move(executor)), output_(request, choices) {}

void StreamState::let_pass(std::shared_ptr<const std::vector<std::string>> not_enforced) noexcept {
  output_.let_pass(std::move(not_enforced));
}

void StreamState::admit(std::int32_t prompt_tokens) noexcept {
  output_.admit(prompt_tokens);
  complete_if_there();
}

void StreamState::deliver(const DeltaView& delta) noexcept {
  if (dropped_.load()) return;
  if (!output_.deliver(delta)) return ask_to_end(EndCause::kFailure);
  complete_if_there();
}

void StreamState::finish(Finish&& finish) noexcept {
  output_.finish(std::move(finish));
  complete_if_there();
}

bool StreamState::begin_turn() noexcept {
  std::uint64_t word = word_.load();
  return phase_of(word) == Phase::kIdle &&
         word_.compare_exchange_strong(word, with_phase(word + kPlace, Phase::kHeld));
}

void StreamState::end_turn() noexcept { word_.store(with_phase(word_.load(), Phase::kIdle)); }

void StreamState::arm(StreamWait what, PendingCompletion&& completion) noexcept {
  completion_.emplace(std::move(completion));
  word_.store(place() * kPlace + static_cast<std::uint64_t>(what) * 4 +
              static_cast<std::uint64_t>(Phase::kWaiting));
  complete_if_there();
}

bool StreamState::has_unread() const noexcept { return !dropped_.load() && output_.has_unread(); }

bool StreamState::is_there(std::uint64_t word) const noexcept {
  const Phase phase = phase_of(word);
  if (phase != Phase::kWaiting && phase != Phase::kAborting) return false;
  if (output_.finished()) return true;
  if (phase == Phase::kAborting) return false;
  switch (wait_of(word)) {
    case StreamWait::kAdmission:
      return output_.admitted();
    case StreamWait::kNews:
      return has_unread();
    case StreamWait::kEnd:
      return false;
  }
  return false;
}

void StreamState::complete_if_there() noexcept {
  // completion_ stays while the word is unchanged: only the operation's completion takes it, and no
  // other operation gets the same number.
  std::uint64_t word = word_.load();
  while (is_there(word)) {
    if (word_.compare_exchange_weak(word, with_phase(word, Phase::kHeld))) {
      const bool aborted =
          phase_of(word) == Phase::kAborting && output_.end().reason == FinishReason::kCancelled;
      return complete(aborted ? boost::asio::error::operation_aborted
                              : boost::system::error_code());
    }
  }
}

void StreamState::complete(boost::system::error_code error) noexcept {
  PendingCompletion completion = std::move(*completion_);
  completion_.reset();  // before the next operation can begin
  std::move(completion).post(error);
}

void StreamState::cancel_wait(std::uint64_t which, cancellation_type type) noexcept {
  if (type == cancellation_type::none) return;
  std::uint64_t word = word_.load();
  while (word / kPlace == which && phase_of(word) == Phase::kWaiting) {
    const bool news = wait_of(word) == StreamWait::kNews;
    if (!word_.compare_exchange_weak(word,
                                     with_phase(word, news ? Phase::kHeld : Phase::kAborting))) {
      continue;
    }
    if (!news) return ask_to_end(EndCause::kCancel);
    const bool without_effect =
        (type & (cancellation_type::total | cancellation_type::partial)) != cancellation_type::none;
    if (!without_effect) {
      dropped_.store(true);
      ask_to_end(EndCause::kCancel);
    }
    return complete(boost::asio::error::operation_aborted);
  }
}

void StreamState::cancel() noexcept {
  dropped_.store(true);
  cancel_wait(place(), cancellation_type::total);
  ask_to_end(EndCause::kCancel);
}

void StreamState::ask_to_end(EndCause cause) noexcept {
  if (const auto request = request_.lock()) request->ask_to_end(cause);
}

StreamState::News StreamState::take_news() noexcept {
  // Reads the end first, so that everything delivered before the end is seen below.
  const bool finished = output_.finished();
  if (!dropped_.load()) {
    for (std::size_t i = 0; i < output_.choices(); ++i) {
      const std::size_t choice = (next_choice_ + i) % output_.choices();
      if (output_.unread(choice)) return take_delta(choice);
    }
  }
  if (finished) {
    read_to_end_ = true;
    return {.error = end_error(), .delta = std::nullopt};
  }
  if (!dropped_.load()) internal_error_noexcept("a stream has been woken for nothing");
  return {.error = boost::asio::error::operation_aborted, .delta = std::nullopt};
}

StreamState::News StreamState::take_delta(std::size_t choice) noexcept {
  try {
    News news;
    news.delta.emplace().choice = static_cast<std::int32_t>(choice);
    output_.take(choice, *news.delta);
    next_choice_ = choice + 1;  // outputs take turns
    return news;
  } catch (const std::bad_alloc&) {
    return {.error = make_error_code(boost::system::errc::not_enough_memory),
            .delta = std::nullopt};
  }
}

boost::system::error_code StreamState::take_admission() {
  if (!output_.finished() || has_unread() || !end_error()) return {};
  read_to_end_ = true;
  return end_error();
}

boost::system::error_code StreamState::end_error() const noexcept {
  if (dropped_.load()) return EngineErrc::kCancelled;
  switch (output_.end().reason) {
    case FinishReason::kStop:
    case FinishReason::kLength:
      return {};
    case FinishReason::kCancelled:
      return output_.end().error.code ? output_.end().error.code : EngineErrc::kCancelled;
    case FinishReason::kError:
      return output_.end().error.code ? output_.end().error.code : EngineErrc::kInternal;
  }
  return EngineErrc::kInternal;
}

boost::system::error_code StreamState::copy_result(GenerationResult& result) const noexcept {
  try {
    result = copy_result();
    return end_error();
  } catch (const std::bad_alloc&) {
    return make_error_code(boost::system::errc::not_enough_memory);
  }
}

boost::system::error_code StreamState::copy_result(EmbedResult& result) const noexcept {
  const Finish& end = output_.end();
  try {
    result = {.vector = end.vector,
              .masks = end.masks,
              .usage = end.usage,
              .times = end.times,
              .error_detail = end.error.detail,
              .retry_after = end.retry_after};
    return end_error();
  } catch (const std::bad_alloc&) {
    return make_error_code(boost::system::errc::not_enough_memory);
  }
}

GenerationResult StreamState::copy_result() const {
  GenerationResult result{.reason = output_.end().reason,
                          .choices = std::vector<GeneratedChoice>(output_.choices()),
                          .usage = output_.end().usage,
                          .times = output_.end().times,
                          .not_enforced = output_.not_enforced(),
                          .error_detail = output_.end().error.detail,
                          .retry_after = output_.end().retry_after};
  for (std::size_t i = 0; i < output_.choices(); ++i) {
    GeneratedChoice& choice = result.choices[i];
    output_.copy_all(i, choice);
    if (i < output_.end().choices.size()) {
      choice.end = output_.end().choices[i];
    } else {
      choice.end.reason = output_.end().reason;
    }
  }
  return result;
}

}  // namespace weft
