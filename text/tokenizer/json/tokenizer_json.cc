#include "weft/text/tokenizer/json/tokenizer_json.h"

#include <memory>
#include <utility>

#include "weft/text/json/json_document.h"
#include "weft/text/tokenizer/tokenizer.h"
#include "weft/text/tokenizer/tokenizer_load.h"

namespace weft {
namespace {

/// Gives ids to added tokens that the model lacks: the ids after the model's, in order.
Result<void> add_tokens(TokenizerParts& parts) {
  for (const AddedToken& token : parts.added) {
    const TokenId known = parts.tokens->find(token.content);
    const auto next = static_cast<TokenId>(parts.tokens->size());
    if (token.id != (known == kNoToken ? next : known)) {
      return bad_tokenizer(parts.name, "added_tokens has \"" + token.content + "\" under the id " +
                                           std::to_string(token.id) + " instead of " +
                                           std::to_string(known == kNoToken ? next : known));
    }
    if (token.content.size() > Tokenizer::kMaxTokenBytes) {
      return bad_tokenizer(parts.name, "added_tokens has a token that is too long");
    }
    if (known == kNoToken) parts.tokens->add(token.content);
  }
  if (parts.tokens->size() > Tokenizer::kMaxTokens) {
    return bad_tokenizer(parts.name, "added_tokens has too many tokens");
  }
  return {};
}

Result<void> check_around(const TokenizerParts& parts) {
  const auto size = static_cast<TokenId>(parts.tokens->size());
  const PostProcessor& around = parts.post_processor;
  const PairForm pair = around.pair.value_or(PairForm());
  for (const auto* side :
       {&around.before, &around.after, &pair.before, &pair.between, &pair.after}) {
    for (const TokenId id : *side) {
      if (id >= size) {
        return bad_tokenizer(parts.name, "post_processor has the token " + std::to_string(id) +
                                             " of " + std::to_string(size));
      }
    }
  }
  return {};
}

}  // namespace

Result<TokenizerParts> read_tokenizer_json(std::string_view text, std::string_view name) {
  Result<JsonDocument> document = JsonDocument::parse(text, name);
  if (!document) return document.error();
  const TokenizerFields root(document->root().get_object(), std::string(name));
  TokenizerParts parts;
  parts.name = name;
  parts.tokens = std::make_shared<TokenTable>();
  if (!root.error()) {
    if (root.has("normalizer")) {
      parts.normalizer = Normalizer(read_normalizer(root.needed_child("normalizer")));
    }
    if (root.has("pre_tokenizer")) {
      parts.pre_tokenizer = PreTokenizer(read_pre_tokenizer(root.needed_child("pre_tokenizer")));
    }
    if (root.has("post_processor")) {
      read_post_processor(root.needed_child("post_processor"), parts.post_processor);
    }
    if (root.has("decoder")) parts.decoder = Decoder(read_decoder(root.needed_child("decoder")));
    parts.added = read_added_tokens(root);
  }
  if (!root.error()) read_model(root.needed_child("model"), parts);
  if (root.error()) return *root.error();
  Result<void> done = add_tokens(parts);
  if (done) done = check_around(parts);
  if (!done) return done.error();
  return parts;
}

Result<Tokenizer> Tokenizer::from_json(std::string_view tokenizer_json, std::string_view name) {
  Result<TokenizerParts> parts = read_tokenizer_json(tokenizer_json, name);
  if (!parts) return parts.error();
  return assemble(std::move(*parts));
}

}  // namespace weft
