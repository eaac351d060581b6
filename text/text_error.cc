#include "weft/text/text_error.h"

#include <array>
#include <string>

namespace weft {
namespace {

constexpr std::array kTextErrors = {
    ErrorText{static_cast<int>(TextErrc::kBadTokenizer), "bad_tokenizer",
              "the tokenizer file is not valid"},
    ErrorText{static_cast<int>(TextErrc::kUnknownTokenizerPart), "unknown_tokenizer_part",
              "the tokenizer asks for a part that is not known"},
    ErrorText{static_cast<int>(TextErrc::kTextTooLarge), "text_too_large",
              "the text is larger than allowed"},
    ErrorText{static_cast<int>(TextErrc::kNoSuchToken), "no_such_token",
              "the token is not in the vocabulary"},
    ErrorText{static_cast<int>(TextErrc::kBadTemplate), "bad_template",
              "the chat template cannot be used"},
    ErrorText{static_cast<int>(TextErrc::kTemplateFailed), "template_failed",
              "the chat template failed"},
    ErrorText{static_cast<int>(TextErrc::kTemplateLimit), "template_limit",
              "the chat template ran past its limit"},
    ErrorText{static_cast<int>(TextErrc::kBadStopString), "bad_stop_string",
              "the stop strings cannot be used"},
    ErrorText{static_cast<int>(TextErrc::kBadTemplateKwarg), "bad_template_kwarg",
              "the chat template cannot be given that"},
    ErrorText{static_cast<int>(TextErrc::kTooManyTokens), "too_many_tokens",
              "the text has more tokens than fit"},
    ErrorText{static_cast<int>(TextErrc::kTemplateOutput), "template_output",
              "the chat template wrote more than its limit"},
    ErrorText{static_cast<int>(TextErrc::kNoTokenizer), "no_tokenizer",
              "the model has no tokenizer"},
};

constexpr TableCategory kTextCategory(0x90d4b6e1738ac25f, "weft.text", kTextErrors);

}  // namespace

const TableCategory& text_category() noexcept { return kTextCategory; }

boost::system::error_code make_error_code(TextErrc code) noexcept {
  return {static_cast<int>(code), text_category()};
}

Error no_tokenizer() {
  return {TextErrc::kNoTokenizer, "only token ids can be sent and are given back"};
}

Error too_many_tokens(std::size_t least) {
  return {TextErrc::kTooManyTokens, "at least " + std::to_string(least) + " tokens"};
}

}  // namespace weft
