#include "weft/actors/stream_state.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>
#include <new>

#include "weft/core/internal_error.h"

namespace weft {

using boost::asio::cancellation_type;

StreamState::StreamState(const Request& request, std::int32_t choices,
                         boost::asio::any_io_executor executor)
    : executor_(std::move(executor)) {
  for (std::int32_t i = 0; i < choices; ++i) {
    choices_.push_back(std::make_unique<ChoiceBuffer>(request));
  }
}

void StreamState::admit() noexcept {
  admitted_.store(true);
  complete_if_there();
}

void StreamState::deliver(const DeltaView& delta) noexcept {
  if (lost_.load() || dropped_.load()) return;
  const auto choice = static_cast<std::size_t>(delta.choice);
  if (choice >= choices_.size()) {
    return internal_error_noexcept("a delta is of an output that its request does not have");
  }
  if (!choices_[choice]->append(delta)) {
    lost_.store(true);
    return ask_to_end(EndCause::kFailure);
  }
  admitted_.store(true);
  complete_if_there();
}

void StreamState::finish(Finish&& finish) noexcept {
  finish_ = std::move(finish);
  if (lost_.load()) {
    finish_.reason = FinishReason::kError;
    finish_.error = Error{EngineErrc::kInternal, "output not kept"};  // short: it allocates nothing
  }
  finished_.store(true);
  complete_if_there();
  if (const auto owner = std::move(owner_)) owner->ended(*this);
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

bool StreamState::has_unread() const noexcept {
  return !dropped_.load() &&
         std::ranges::any_of(choices_, [](const auto& choice) { return choice->unread(); });
}

bool StreamState::is_there(std::uint64_t word) const noexcept {
  const Phase phase = phase_of(word);
  if (phase != Phase::kWaiting && phase != Phase::kAborting) return false;
  if (finished_.load()) return true;
  if (phase == Phase::kAborting) return false;
  switch (wait_of(word)) {
    case StreamWait::kAdmission:
      return admitted_.load();
    case StreamWait::kNews:
      return has_unread();
    case StreamWait::kEnd:
      return false;
  }
  return false;
}

void StreamState::complete_if_there() noexcept {
  // What is there for a word stays there as long as the word: only the operation's completion takes
  // it, and no other operation gets the same number.
  std::uint64_t word = word_.load();
  while (is_there(word)) {
    if (word_.compare_exchange_weak(word, with_phase(word, Phase::kHeld))) {
      const bool aborted =
          phase_of(word) == Phase::kAborting && finish_.reason == FinishReason::kCancelled;
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
  // The end first: what was delivered before it is seen below.
  const bool finished = finished_.load();
  if (!dropped_.load()) {
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const std::size_t choice = (next_choice_ + i) % choices_.size();
      if (choices_[choice]->unread()) return take_delta(choice);
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
    choices_[choice]->take(*news.delta);
    next_choice_ = choice + 1;  // the others get their turn
    return news;
  } catch (const std::bad_alloc&) {
    return {.error = make_error_code(boost::system::errc::not_enough_memory),
            .delta = std::nullopt};
  }
}

boost::system::error_code StreamState::take_admission() {
  if (!finished_.load() || has_unread() || !end_error()) return {};
  read_to_end_ = true;
  return end_error();
}

boost::system::error_code StreamState::end_error() const noexcept {
  if (dropped_.load()) return EngineErrc::kCancelled;
  switch (finish_.reason) {
    case FinishReason::kStop:
    case FinishReason::kLength:
      return {};
    case FinishReason::kCancelled:
      return finish_.error.code ? finish_.error.code : EngineErrc::kCancelled;
    case FinishReason::kError:
      return finish_.error.code ? finish_.error.code : EngineErrc::kInternal;
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

GenerationResult StreamState::copy_result() const {
  GenerationResult result{.reason = finish_.reason,
                          .choices = std::vector<GeneratedChoice>(choices_.size()),
                          .usage = finish_.usage,
                          .times = finish_.times,
                          .error_detail = finish_.error.detail,
                          .retry_after = finish_.retry_after};
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    GeneratedChoice& choice = result.choices[i];
    choices_[i]->copy_all(choice);
    if (i < finish_.choices.size()) {
      choice.end = finish_.choices[i];
    } else {
      choice.end.reason = finish_.reason;
    }
  }
  return result;
}

}  // namespace weft
