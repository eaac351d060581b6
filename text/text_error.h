#pragma once

#include <cstddef>

#include "weft/core/error/error.h"

namespace weft {

/// What can go wrong between text and tokens.
enum class TextErrc {
  /// A tokenizer file is not what its format says; the detail names the field.
  kBadTokenizer = 1,
  /// A tokenizer file is well formed and asks for a part that is not known here.
  kUnknownTokenizerPart,
  /// A text is larger than the stated bound, or grows past it while it is normalized.
  kTextTooLarge,
  /// A token id is outside the vocabulary.
  kNoSuchToken,
  /// There is no chat template, or it cannot be parsed; the detail has line and column.
  kBadTemplate,
  /// A chat template failed while it ran, or said raise_exception.
  kTemplateFailed,
  /// A chat template ran past its bound of steps, depth or memory.
  kTemplateLimit,
  /// A request's stop strings are too many, or one is empty, too long or not UTF-8; the detail
  /// names it.
  kBadStopString,
  /// A request's chat_template_kwargs have a name that is not allowed; the detail has it.
  kBadTemplateKwarg,
  /// A text has more tokens than its caller can use; the detail says how many at least.
  kTooManyTokens,
  /// A chat template wrote more bytes than its bound.
  kTemplateOutput,
  /// The model has no tokenizer, so that there is no text.
  kNoTokenizer,
};

/// The category of these errors, and how one becomes a boost::system::error_code.
[[nodiscard]] const TableCategory& text_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(TextErrc code) noexcept;

/// kNoTokenizer; the detail says that requests and answers have token ids only.
[[nodiscard]] Error no_tokenizer();
/// kTooManyTokens: "at least N tokens".
[[nodiscard]] Error too_many_tokens(std::size_t least);

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::TextErrc> : std::true_type {};
