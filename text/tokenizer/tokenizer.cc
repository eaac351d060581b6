#include "weft/text/tokenizer/tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/text/tokenizer/longest_token.h"
#include "weft/text/tokenizer/scratch_pool.h"
#include "weft/text/tokenizer/token_bytes.h"
#include "weft/text/tokenizer/tokenizer_parts.h"
#include "weft/text/unicode/unicode.h"

namespace weft {

namespace {

Error no_such_token(TokenId id, std::size_t size) {
  return {make_error_code(TextErrc::kNoSuchToken),
          "token " + std::to_string(id) + " of " + std::to_string(size)};
}

/// One call of encode().
struct Encoding {
  EncodeScratch& lent;
  std::vector<TokenId>& out;
  std::size_t first;  ///< The beginning of its own tokens in `out`.
  std::size_t most;   ///< in tokens

  [[nodiscard]] Result<void> check_count() const {
    const std::size_t count = out.size() - first;
    if (count > most) return too_many_tokens(count);
    return {};
  }
};

}  // namespace

struct Tokenizer::Data {
  TokenizerParts parts;
  AddedTokenFinder raw_added;         ///< Found before normalization.
  AddedTokenFinder normalized_added;  ///< Found after normalization.
  AddedTokenFinder spelled_added;     ///< Found before normalization, together with all special
                                      ///< tokens.
  ByteTrie special_texts;             ///< the texts of all special added tokens
  std::vector<bool> special;          ///< By id.
  /// longest_token(), indexed by whether special tokens are searched.
  std::array<std::optional<std::size_t>, 2> longest;
  mutable ScratchPool scratch;

  [[nodiscard]] bool has(TokenId id) const noexcept {
    return id >= 0 && static_cast<std::size_t>(id) < parts.tokens->size();
  }

  Result<void> encode_section(std::string_view text, bool begins_input, bool parse_special,
                              const Encoding& to) const;
  Result<void> encode_plain(std::string_view text, bool begins_input, const Encoding& to) const;
};

Result<Tokenizer> Tokenizer::assemble(TokenizerParts parts) {
  auto data = std::make_shared<Data>();
  data->special.resize(parts.tokens->size());
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
  std::vector<AddedToken> spelled;
  std::vector<std::pair<std::string_view, TokenId>> special_texts;
  std::size_t longest_added = 0;
  for (AddedToken& token : parts.added) {
    longest_added = std::max(longest_added, token.content.size());
    token.special = token.special || token.id == parts.roles.bos || token.id == parts.roles.eos;
    data->special[static_cast<std::size_t>(token.id)] = token.special;
    if (token.special) special_texts.emplace_back(token.content, token.id);
    if (token.special || !token.normalized) spelled.push_back(token);
    if (!token.normalized) {
      raw.push_back(token);
      continue;
    }
    AddedToken changed = token;
    bool ignored = true;
    Result<void> done = parts.normalizer.apply(changed.content, ignored);
    if (!done) return done.error();
    longest_added = std::max(longest_added, changed.content.size());
    if (!changed.content.empty()) normalized.push_back(std::move(changed));
  }
  std::vector<TokenId>& ends = parts.roles.ends;
  if (parts.roles.eos != kNoToken) ends.push_back(parts.roles.eos);
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  data->special_texts = ByteTrie(std::move(special_texts));
  data->raw_added = AddedTokenFinder(std::move(raw));
  data->normalized_added = AddedTokenFinder(std::move(normalized));
  data->spelled_added = AddedTokenFinder(std::move(spelled));
  for (const bool parse_special : {false, true}) {
    data->longest[parse_special ? 1 : 0] = longest_token(parts, longest_added, parse_special);
  }
  data->parts = std::move(parts);
  return Tokenizer(std::move(data));
}

Tokenizer Tokenizer::none() {
  auto data = std::make_shared<Data>();
  data->parts.tokens = std::make_shared<TokenTable>();
  return Tokenizer(std::move(data));
}

bool Tokenizer::exists() const noexcept { return data_->parts.model.has_value(); }

Result<void> Tokenizer::encode(std::string_view text, EncodeOptions options,
                               std::vector<TokenId>& out) const {
  if (!exists()) return no_tokenizer();
  if (text.size() > kMaxTextBytes) {
    return Error{make_error_code(TextErrc::kTextTooLarge),
                 std::to_string(text.size()) + " bytes; at most " + std::to_string(kMaxTextBytes)};
  }
  if (const auto longest = bytes_per_token(options.parse_special)) {
    const std::size_t least = text.size() / *longest + (text.size() % *longest != 0 ? 1 : 0);
    if (least > options.max_tokens) return too_many_tokens(least);
  }
  std::string repaired;
  if (!is_utf8(text)) {
    repaired = lossy_utf8(text);
    text = repaired;
    if (options.literals) options.parse_special = false;  // their offsets have moved
  }
  const ScratchPool::Loan scratch(data_->scratch);
  const Encoding to{*scratch, out, out.size(), options.max_tokens};
  const PostProcessor& around = data_->parts.post_processor;
  if (options.add_special) out.insert(out.end(), around.before.begin(), around.before.end());
  std::vector<TextSection> sections;
  const AddedTokenFinder& finder = options.literals ? data_->spelled_added : data_->raw_added;
  finder.split(text, options.parse_special,
               options.literals.value_or(std::span<const std::size_t>()), sections);
  const bool parse_normalized = options.parse_special && !options.literals;
  Result<void> done;
  for (const TextSection& section : sections) {
    if (section.id != kNoToken) {
      out.push_back(section.id);
    } else {
      const bool begins_input = section.text.data() == text.data();
      done = data_->encode_section(section.text, begins_input, parse_normalized, to);
    }
    if (done) done = to.check_count();
    if (!done) break;
  }
  if (options.add_special) out.insert(out.end(), around.after.begin(), around.after.end());
  if (done) done = to.check_count();
  if (!done) out.resize(to.first);
  return done;
}

std::optional<std::size_t> Tokenizer::bytes_per_token(bool parse_special) const noexcept {
  return data_->longest[parse_special ? 1 : 0];
}

Result<void> Tokenizer::Data::encode_section(std::string_view text, bool begins_input,
                                             bool parse_special, const Encoding& to) const {
  if (parts.normalizer.empty() && normalized_added.empty()) {
    return encode_plain(text, begins_input, to);
  }
  std::string normalized(text);
  Result<void> done = parts.normalizer.apply(normalized, begins_input);
  if (!done) return done;
  std::vector<TextSection> sections;
  normalized_added.split(normalized, parse_special, {}, sections);
  for (const TextSection& section : sections) {
    if (section.id != kNoToken) {
      to.out.push_back(section.id);
    } else {
      const bool begins = begins_input && section.text.data() == normalized.data();
      done = encode_plain(section.text, begins, to);
    }
    if (done) done = to.check_count();
    if (!done) return done;
  }
  return {};
}

Result<void> Tokenizer::Data::encode_plain(std::string_view text, bool begins_input,
                                           const Encoding& to) const {
  Pieces& pieces = to.lent.pieces;
  pieces.text = text;
  pieces.ranges.assign(1, {0, text.size()});
  pieces.begins_input = begins_input;
  Result<void> done = parts.pre_tokenizer.apply(pieces);
  if (!done) return done;
  return std::visit(
      [&](const auto& model) -> Result<void> {
        for (const TextRange& range : pieces.ranges) {
          model.encode(pieces.at(range), to.lent, to.out);
          if (Result<void> few = to.check_count(); !few) return few;
        }
        return {};
      },
      *parts.model);
}

std::vector<Tokenizer::SpecialText> Tokenizer::special_texts(std::string_view text) const {
  const ByteTrie& texts = data_->special_texts;
  std::vector<SpecialText> found;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!texts.begins(text[at])) continue;
    const std::size_t length = texts.longest_prefix(text.substr(at)).length;
    if (length > 0) found.push_back({at, at + length});
  }
  return found;
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  if (!exists()) return no_tokenizer();
  DecodeStream stream(data_->parts.decoder);
  for (const TokenId id : ids) {
    if (!data_->has(id)) return no_such_token(id, vocabulary_size());
    if (skip_special && is_special(id)) continue;
    stream.push(data_->parts.tokens->text(id));
  }
  stream.finish();
  return stream.take();
}

Result<std::string_view> Tokenizer::token(TokenId id) const {
  if (!data_->has(id)) return no_such_token(id, vocabulary_size());
  return data_->parts.tokens->text(id);
}

Result<void> Tokenizer::append_bytes(TokenId id, std::string& out) const {
  if (!data_->has(id)) return no_such_token(id, vocabulary_size());
  append_token_bytes(decoder(), data_->parts.tokens->text(id), out);
  return {};
}

TokenId Tokenizer::id_of(std::string_view token) const noexcept {
  return data_->parts.tokens->find(token);
}

std::size_t Tokenizer::vocabulary_size() const noexcept { return data_->parts.tokens->size(); }

bool Tokenizer::is_special(TokenId id) const noexcept {
  return data_->has(id) && data_->special[static_cast<std::size_t>(id)];
}

TokenId Tokenizer::bos() const noexcept { return data_->parts.roles.bos; }
TokenId Tokenizer::eos() const noexcept { return data_->parts.roles.eos; }
TokenId Tokenizer::unknown() const noexcept { return data_->parts.roles.unknown; }
TokenId Tokenizer::padding() const noexcept { return data_->parts.roles.padding; }
TokenId Tokenizer::mask() const noexcept { return data_->parts.roles.mask; }

std::span<const TokenId> Tokenizer::end_tokens() const noexcept { return data_->parts.roles.ends; }

std::span<const TokenId> Tokenizer::tokens_before() const noexcept {
  return data_->parts.post_processor.before;
}

std::span<const TokenId> Tokenizer::tokens_after() const noexcept {
  return data_->parts.post_processor.after;
}

const PairForm* Tokenizer::pair_form() const noexcept {
  const auto& form = data_->parts.post_processor.pair;
  return form ? &*form : nullptr;
}

std::string_view Tokenizer::chat_template() const noexcept { return data_->parts.chat_template; }
std::string_view Tokenizer::tool_chat_template() const noexcept {
  return data_->parts.tool_chat_template;
}
std::string Tokenizer::chat_templates() const {
  return data_->parts.chat_template + data_->parts.tool_chat_template;
}
std::string_view Tokenizer::chat_template_file() const noexcept {
  const std::string& file = data_->parts.chat_template_file;
  return file.empty() ? std::string_view("chat_template") : std::string_view(file);
}

const Decoder& Tokenizer::decoder() const noexcept { return data_->parts.decoder; }

}  // namespace weft
