#include "weft/actors/request/request_output.h"

#include <algorithm>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/core/error/internal_error.h"

namespace weft {

RequestOutput::RequestOutput(const Request& request, std::int32_t choices) {
  for (std::int32_t i = 0; i < choices; ++i) {
    choices_.push_back(std::make_unique<ChoiceBuffer>(request));
  }
}

bool RequestOutput::deliver(const DeltaView& delta) noexcept {
  if (lost_.load()) return true;  // has been asked to end
  const auto choice = static_cast<std::size_t>(delta.choice);
  if (choice >= choices_.size()) {
    internal_error_noexcept("a delta is of an output that its request does not have");
    return true;
  }
  if (!choices_[choice]->append(delta)) {
    lost_.store(true);
    return false;
  }
  admitted_.store(true);
  return true;
}

void RequestOutput::finish(Finish&& finish) noexcept {
  finish_ = std::move(finish);
  if (lost_.load()) {
    finish_.reason = FinishReason::kError;
    finish_.error = Error{EngineErrc::kInternal, "output not kept"};  // short: it allocates nothing
  }
  finished_.store(true);
}

bool RequestOutput::has_unread() const noexcept {
  return std::ranges::any_of(choices_, [](const auto& choice) { return choice->unread(); });
}

std::size_t RequestOutput::unread_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& choice : choices_) bytes += choice->unread_bytes();
  return bytes;
}

std::size_t RequestOutput::tokens() const noexcept {
  std::size_t tokens = 0;
  for (const auto& choice : choices_) tokens += choice->tokens();
  return tokens;
}

}  // namespace weft
