#include "weft/sampling/choice_failure.h"

#include <array>
#include <exception>
#include <string_view>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/sampling/defaults.h"

namespace weft {
namespace {

using Cause = ChoiceFailure::Cause;

std::shared_ptr<const ChoiceFailure> failure_of(Cause cause, std::string_view thrown) noexcept {
  try {
    const std::string_view shown = thrown.substr(0, defaults::kMaxThrownText);
    // Invalid bytes take more room as replacement characters, so the text is cut again.
    std::string text(cut_utf8(lossy_utf8(shown), defaults::kMaxThrownText));
    return std::make_shared<const ChoiceFailure>(ChoiceFailure{cause, std::move(text)});
  } catch (...) {
    return choice_failure(cause);
  }
}

}  // namespace

std::shared_ptr<const ChoiceFailure> choice_failure(Cause cause) noexcept {
  static const std::array<ChoiceFailure, 3> failures = {{
      {Cause::kNotNumbers},
      {Cause::kProcessorThrew},
      {Cause::kReaderThrew},
  }};
  // A pointer that owns nothing, so it allocates no memory.
  return {std::shared_ptr<const void>(), &failures[static_cast<std::size_t>(cause)]};
}

std::shared_ptr<const ChoiceFailure> caught_failure(Cause cause) noexcept {
  try {
    throw;
  } catch (const std::exception& thrown) {
    return failure_of(cause, thrown.what());
  } catch (...) {
    return failure_of(cause, "an exception that is no std::exception");
  }
}

}  // namespace weft
