#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/text/text_error.h"
#include "weft/text/tokenizer/added_tokens.h"
#include "weft/text/tokenizer/decode/decoder.h"
#include "weft/text/tokenizer/model/token_model.h"
#include "weft/text/tokenizer/normalize/normalizer.h"
#include "weft/text/tokenizer/post_processor.h"
#include "weft/text/tokenizer/split/pre_tokenizer.h"
#include "weft/text/tokenizer/token_table.h"

namespace weft {

/// Ids with a role; kNoToken where there is none.
struct TokenRoles {
  TokenId bos = kNoToken;
  TokenId eos = kNoToken;
  TokenId unknown = kNoToken;
  TokenId padding = kNoToken;
  TokenId mask = kNoToken;
  std::vector<TokenId> ends;  ///< Further tokens that end a generation.
};

/// The parts that a loader finds and Tokenizer::assemble puts together.
struct TokenizerParts {
  std::string name;
  std::shared_ptr<TokenTable> tokens;  ///< By id, including added tokens.
  std::vector<AddedToken> added;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::optional<TokenModel> model;
  PostProcessor post_processor;
  Decoder decoder;
  TokenRoles roles;
  std::string chat_template;
  std::string tool_chat_template;  ///< for conversations with tools; empty: chat_template
  std::string chat_template_file;  ///< The file it was read from; empty where that is the model's
                                   ///< own file.
};

/// kBadTokenizer with "name: what".
[[nodiscard]] inline Error bad_tokenizer(std::string_view name, std::string_view what) {
  return {make_error_code(TextErrc::kBadTokenizer), std::string(name) + ": " + std::string(what)};
}

}  // namespace weft
