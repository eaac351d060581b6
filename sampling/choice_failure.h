#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace weft {

/// Why no token was chosen for a sequence, where more is known than that its logits leave none.
struct ChoiceFailure {
  enum class Cause : std::uint8_t {
    kNotNumbers,      ///< none of the logits that the model gave is a number above -inf
    kProcessorThrew,  ///< the request's LogitProcessor (sampling/logit_processor.h)
    kReaderThrew,     ///< the request's ActivationReader (gpu/activation_reader.h)
  };

  Cause cause = Cause::kNotNumbers;
  /// What the exception says, valid UTF-8 of at most defaults::kMaxThrownText bytes.
  std::string text{};
};

/// Returns a failure without a text. Allocates nothing.
[[nodiscard]] std::shared_ptr<const ChoiceFailure> choice_failure(
    ChoiceFailure::Cause cause) noexcept;

/// Returns the failure that the exception being handled is, to be called in a catch block. It has
/// no text when there is no memory for it.
[[nodiscard]] std::shared_ptr<const ChoiceFailure> caught_failure(
    ChoiceFailure::Cause cause) noexcept;

}  // namespace weft
