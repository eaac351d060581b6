#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace weft {

/// The reason why no token was chosen for a sequence, if it is not its own masks and edits.
struct ChoiceFailure {
  enum class Cause : std::uint8_t {
    kNotNumbers,      ///< none of the model's logits is a number above -inf
    kProcessorThrew,  ///< the request's LogitProcessor (sampling/logit_processor.h)
    kReaderThrew,     ///< the request's ActivationReader (gpu/activation_reader.h)
  };

  Cause cause = Cause::kNotNumbers;
  /// The exception's text, valid UTF-8 of at most defaults::kMaxThrownText bytes.
  std::string text{};
};

/// Returns a failure without a text. Allocates nothing.
[[nodiscard]] std::shared_ptr<const ChoiceFailure> choice_failure(
    ChoiceFailure::Cause cause) noexcept;

/// Returns the failure for the exception being handled; call it in a catch block. The failure has
/// no text if there is no memory for it.
[[nodiscard]] std::shared_ptr<const ChoiceFailure> caught_failure(
    ChoiceFailure::Cause cause) noexcept;

}  // namespace weft
