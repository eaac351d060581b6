#pragma once

#include <string>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/text/json/json_fields.h"
#include "weft/text/text_error.h"

namespace weft {

/// The words for mistakes in tokenizer.json: "tokenizer.json.model.vocab is missing".
struct TokenizerWords {
  using Mistake = Error;
  using Code = TextErrc;

  static constexpr TextErrc kMissing = TextErrc::kBadTokenizer;
  static constexpr TextErrc kWrongType = TextErrc::kBadTokenizer;
  static constexpr TextErrc kInvalid = TextErrc::kBadTokenizer;

  static Error about(std::string path, std::string_view what, TextErrc code) {
    return {code, std::move(path.append(" ").append(what))};
  }
};

using TokenizerFields = JsonFields<TokenizerWords>;

/// Notes that the `type` that the field `name` requires is unknown here.
inline void fail_unknown(const TokenizerFields& fields, std::string_view name,
                         std::string_view type) {
  fields.fail(name, "\"" + std::string(type) + "\"", TextErrc::kUnknownTokenizerPart);
}

}  // namespace weft
