#include "weft/net/api/fields/word_tokens.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "weft/net/api/fields/body_defaults.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

/// Returns the text's tokens; none when the tokenizer refuses it.
std::vector<TokenId> tokens_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> ids;
  const auto encoded = tokenizer.encode(text, {.add_special = false, .parse_special = false}, ids);
  if (!encoded) ids.clear();
  return ids;
}

/// Returns the token that the text becomes after other text; kNoToken when it becomes several.
TokenId token_behind_text(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<TokenId> before = tokens_of(tokenizer, "a");
  const std::vector<TokenId> both = tokens_of(tokenizer, "a" + std::string(text));
  if (before.empty() || both.size() != before.size() + 1) return kNoToken;
  return std::equal(before.begin(), before.end(), both.begin()) ? both.back() : kNoToken;
}

std::optional<TokenId> token_id(dom::element element) {
  const auto id = whole_number(element);
  if (!id || *id < std::numeric_limits<TokenId>::min() ||
      *id > std::numeric_limits<TokenId>::max()) {
    return std::nullopt;
  }
  return static_cast<TokenId>(*id);
}

/// Returns the one token that a text becomes; otherwise returns kNoToken and notes a mistake.
TokenId token_of(BodyFields& fields, std::string_view text, const Tokenizer& tokenizer,
                 const std::string& path) {
  if (text.empty() || text.size() > defaults::kMaxWordBytes) {
    fields.fail(
        bad_field(path, "must have 1 to " + std::to_string(defaults::kMaxWordBytes) + " bytes"));
    return kNoToken;
  }
  const std::vector<TokenId> ids = tokens_of(tokenizer, text);
  if (ids.size() == 1) return ids.front();
  const TokenId behind = token_behind_text(tokenizer, text);
  if (behind != kNoToken) return behind;
  fields.fail(bad_field(path, shown(text) + " is " + std::to_string(ids.size()) +
                                  " tokens; only texts that are one token can be given"));
  return kNoToken;
}

/// Calls take(element, path of the element) for each entry, until the first mistake.
template <class Take>
void for_each_entry(BodyFields& fields, std::string_view name, std::size_t most, const Take& take) {
  const auto list = fields.array(name);
  if (!list || !has_at_most(fields, name, *list, most, "entries")) return;
  std::size_t index = 0;
  for (const dom::element entry : *list) {
    take(entry, fields.path_of(indexed(name, index++)));
    if (fields.error()) return;
  }
}

}  // namespace

void take_word_tokens(BodyFields& fields, std::string_view name, const Tokenizer& tokenizer,
                      std::size_t most, std::vector<TokenId>& out) {
  for_each_entry(fields, name, most, [&](dom::element entry, const std::string& path) {
    std::string_view text;
    if (entry.get(text) != simdjson::SUCCESS) {
      const auto id = token_id(entry);
      if (id) return out.push_back(*id);
      return fields.fail(bad_field(path, "must be a string or a token id", api_code::kInvalidType));
    }
    const TokenId token = token_of(fields, text, tokenizer, path);
    if (token != kNoToken) out.push_back(token);
  });
}

void take_token_ids(BodyFields& fields, std::string_view name, std::size_t most,
                    std::vector<TokenId>& out) {
  for_each_entry(fields, name, most, [&](dom::element entry, const std::string& path) {
    const auto id = token_id(entry);
    if (id) return out.push_back(*id);
    fields.fail(bad_field(path, "must be a token id", api_code::kInvalidType));
  });
}

}  // namespace weft
