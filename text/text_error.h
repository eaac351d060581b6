#pragma once

#include <cstddef>

#include "weft/core/error/error.h"

namespace weft {

/// The errors of converting between text and tokens.
enum class TextErrc {
  /// A tokenizer file violates its format; the detail names the field.
  kBadTokenizer = 1,
  /// A tokenizer file is well formed, but requires a part that is not known here.
  kUnknownTokenizerPart,
  /// A text exceeds its bound, or grows beyond it during normalization.
  kTextTooLarge,
  /// A token id is outside the vocabulary.
  kNoSuchToken,
  /// There is no chat template, or it cannot be parsed; the detail has line and column.
  kBadTemplate,
  /// A chat template failed while it ran, or called raise_exception.
  kTemplateFailed,
  /// A chat template ran past its bound of steps, depth or memory.
  kTemplateLimit,
  /// A request's stop strings are too many, or one is empty, too long or not UTF-8; the detail
  /// names it.
  kBadStopString,
  /// A request's chat_template_kwargs contain a forbidden name; the detail has it.
  kBadTemplateKwarg,
  /// A text has more tokens than its caller can use; the detail has a lower bound of their number.
  kTooManyTokens,
  /// A chat template wrote more bytes than its bound.
  kTemplateOutput,
  /// The model has no tokenizer, so it has no text.
  kNoTokenizer,
};

/// The category of these errors, and how one becomes a boost::system::error_code.
[[nodiscard]] const TableCategory& text_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(TextErrc code) noexcept;

/// Returns kNoTokenizer; the detail says that requests and answers have only token ids.
[[nodiscard]] Error no_tokenizer();
/// Returns kTooManyTokens: "at least N tokens".
[[nodiscard]] Error too_many_tokens(std::size_t least);

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::TextErrc> : std::true_type {};
