#include <algorithm>
#include <limits>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/text/json/reference_number.h"
#include "weft/text/tokenizer/json/tokenizer_json.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {
namespace {

using simdjson::dom::element;

void check_size(const TokenizerFields& fields, std::string_view text) {
  if (text.size() > Tokenizer::kMaxTokenBytes) fields.fail("vocab", "has a token that is too long");
}

void check_count(const TokenizerFields& fields, std::size_t count) {
  if (count == 0) fields.fail("vocab", "is empty");
  if (count > Tokenizer::kMaxTokens) fields.fail("vocab", "has too many tokens");
}

/// Reads the vocabulary of a file that gives ids. Every id below the count must occur once.
void read_vocabulary(const TokenizerFields& fields, TokenTable& tokens) {
  const auto entries = fields.needed_members("vocab");
  check_count(fields, entries.size());
  if (fields.error()) return;
  std::vector<std::string_view> texts(entries.size());
  std::vector<bool> seen(entries.size());
  for (const auto& [text, value] : entries) {
    std::uint64_t id = 0;
    check_size(fields, text);
    if (value.get(id) != simdjson::SUCCESS || id >= texts.size() || seen[id]) {
      fields.fail("vocab", "has \"" + std::string(text) +
                               "\" under an id that is not free in 0 .. " +
                               std::to_string(texts.size() - 1));
      return;
    }
    texts[id] = text;
    seen[id] = true;
  }
  tokens.reserve(texts.size());
  for (const std::string_view text : texts) {
    if (tokens.find(text) != kNoToken) {
      fields.fail("vocab", "has \"" + std::string(text) + "\" twice");
      return;
    }
    tokens.add(text);
  }
}

/// Returns by id whether text may become the token. Special tokens of several characters may not,
/// so that no user's text makes them. A token of one character may be a part of any word.
std::vector<bool> plain_tokens(const TokenizerParts& parts) {
  std::vector<bool> plain(parts.tokens->size(), true);
  for (const AddedToken& token : parts.added) {
    const auto id = static_cast<std::size_t>(token.id);
    if (token.special && id < plain.size() && count_code_points(token.content) > 1) {
      plain[id] = false;
    }
  }
  return plain;
}

/// Returns the id of the token that the field names; kNoToken when the field is absent or null.
TokenId read_token(const TokenizerFields& fields, std::string_view name, const TokenTable& tokens) {
  if (!fields.has(name)) return kNoToken;
  const TokenId id = tokens.find(fields.needed_text(name));
  if (id == kNoToken) fields.fail(name, "is not in the vocabulary");
  return id;
}

struct Merge {
  TokenId left = kNoToken;
  TokenId right = kNoToken;
  TokenId merged = kNoToken;

  [[nodiscard]] bool is_whole() const {
    return left != kNoToken && right != kNoToken && merged != kNoToken;
  }
};

/// Looks up the two sides of a merge and their result in the vocabulary.
class MergeReader {
 public:
  MergeReader(const TokenTable& tokens, std::string_view word_begin_not)
      : tokens_(tokens), prefix_(word_begin_not.size()) {}

  /// Reads "left right" or ["left", "right"]. In some files tokens contain spaces; then the cut
  /// counts whose sides are both tokens.
  Merge read(element merge) {
    std::string_view text;
    if (merge.get(text) == simdjson::SUCCESS) {
      for (std::size_t cut = text.find(' '); cut < text.size(); cut = text.find(' ', cut + 1)) {
        const Merge found = look_up(text.substr(0, cut), text.substr(cut + 1));
        if (found.is_whole()) return found;
      }
      return {};
    }
    simdjson::dom::array sides;
    std::string_view left;
    std::string_view right;
    const bool is_pair = merge.get(sides) == simdjson::SUCCESS && sides.size() == 2 &&
                         sides.at(0).get(left) == simdjson::SUCCESS &&
                         sides.at(1).get(right) == simdjson::SUCCESS;
    return is_pair ? look_up(left, right) : Merge{};
  }

 private:
  Merge look_up(std::string_view left, std::string_view right) {
    merged_ = left;
    merged_ += right.substr(std::min(prefix_, right.size()));
    return {tokens_.find(left), tokens_.find(right), tokens_.find(merged_)};
  }

  const TokenTable& tokens_;
  std::size_t prefix_;
  std::string merged_;
};

BpeMerges read_merges(const TokenizerFields& fields, const TokenTable& tokens,
                      std::string_view word_begin_not) {
  BpeMerges merges;
  const auto items = fields.needed_items("merges");
  merges.reserve(items.size());
  MergeReader reader(tokens, word_begin_not);
  std::uint32_t rank = 0;
  for (const element item : items) {
    const Merge merge = reader.read(item);
    if (!merge.is_whole()) {
      fields.fail("merges", "has at " + std::to_string(rank) +
                                " no pair of tokens that make a token of the vocabulary");
      return merges;
    }
    merges.add(merge.left, merge.right, {rank++, merge.merged}, true);
  }
  return merges;
}

void read_bpe(const TokenizerFields& fields, TokenizerParts& parts) {
  read_vocabulary(fields, *parts.tokens);
  if (fields.error()) return;
  BpeOptions options;
  options.unknown = read_token(fields, "unk_token", *parts.tokens);
  options.fuse_unknown = fields.flag("fuse_unk").value_or(false);
  options.byte_fallback = fields.flag("byte_fallback").value_or(false);
  options.whole_words = fields.flag("ignore_merges").value_or(false);
  options.word_begin_not = fields.text("continuing_subword_prefix").value_or("");
  options.word_end = fields.text("end_of_word_suffix").value_or("");
  options.over_bytes = parts.pre_tokenizer.drop_final_byte_alphabet();
  parts.roles.unknown = options.unknown;
  BpeMerges merges = read_merges(fields, *parts.tokens, options.word_begin_not);
  if (fields.error()) return;
  constexpr char32_t kMetaspace = 0x2581;
  Bpe bpe(parts.tokens, plain_tokens(parts), std::move(options), std::move(merges));
  bpe.cut_before(kMetaspace);
  parts.model = std::move(bpe);
}

void read_unigram(const TokenizerFields& fields, TokenizerParts& parts) {
  const auto entries = fields.needed_items("vocab");
  check_count(fields, entries.size());
  if (fields.error()) return;
  std::vector<double> scores;
  parts.tokens->reserve(entries.size());
  for (const element entry : entries) {
    simdjson::dom::array pair;
    std::string_view text;
    double score = 0;
    if (entry.get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
        pair.at(0).get(text) != simdjson::SUCCESS || pair.at(1).get(score) != simdjson::SUCCESS) {
      return fields.fail("vocab", "has something else than a pair of text and score");
    }
    check_size(fields, text);
    parts.tokens->add(text, true);
    scores.push_back(reference_number(score));
  }
  const auto last = static_cast<std::int64_t>(scores.size()) - 1;
  parts.roles.unknown = static_cast<TokenId>(fields.needed_integer("unk_id", 0, last));
  if (fields.error()) return;
  const bool byte_fallback = fields.flag("byte_fallback").value_or(false);
  parts.model.emplace(std::in_place_type<Unigram>, parts.tokens, std::move(scores),
                      plain_tokens(parts), parts.roles.unknown, byte_fallback);
}

void read_wordpiece(const TokenizerFields& fields, TokenizerParts& parts) {
  read_vocabulary(fields, *parts.tokens);
  if (fields.error()) return;
  const std::string_view prefix = fields.text("continuing_subword_prefix").value_or("##");
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const auto longest = fields.integer("max_input_chars_per_word", 0, kMost).value_or(100);
  parts.roles.unknown = read_token(fields, "unk_token", *parts.tokens);
  if (parts.roles.unknown == kNoToken) fields.fail("unk_token", "is missing");
  const std::vector<bool> plain = plain_tokens(parts);
  std::vector<std::pair<std::string_view, TokenId>> beginnings;
  std::vector<std::pair<std::string_view, TokenId>> continuations;
  for (TokenId id = 0; id < static_cast<TokenId>(parts.tokens->size()); ++id) {
    if (!plain[static_cast<std::size_t>(id)]) continue;
    const std::string_view text = parts.tokens->text(id);
    beginnings.emplace_back(text, id);
    if (text.starts_with(prefix)) continuations.emplace_back(text.substr(prefix.size()), id);
  }
  parts.model.emplace(std::in_place_type<WordPiece>, ByteTrie(std::move(beginnings)),
                      ByteTrie(std::move(continuations)), parts.roles.unknown,
                      static_cast<std::size_t>(longest));
}

void read_word_level(const TokenizerFields& fields, TokenizerParts& parts) {
  read_vocabulary(fields, *parts.tokens);
  if (fields.error()) return;
  parts.roles.unknown = read_token(fields, "unk_token", *parts.tokens);
  if (parts.roles.unknown == kNoToken) fields.fail("unk_token", "is missing");
  parts.model.emplace(std::in_place_type<WordLevel>, parts.tokens, plain_tokens(parts),
                      parts.roles.unknown);
}

/// Returns the type of an old file that states none. Only BPE has merges, only WordPiece a length,
/// only Unigram an unk_id.
std::string_view guess_type(const TokenizerFields& fields) {
  if (fields.has("merges")) return "BPE";
  if (fields.has("max_input_chars_per_word")) return "WordPiece";
  return fields.has("unk_id") ? "Unigram" : "WordLevel";
}

}  // namespace

void read_model(const TokenizerFields& fields, TokenizerParts& parts) {
  const std::string_view type = fields.text("type").value_or(guess_type(fields));
  if (type == "BPE") {
    read_bpe(fields, parts);
  } else if (type == "Unigram") {
    read_unigram(fields, parts);
  } else if (type == "WordPiece") {
    read_wordpiece(fields, parts);
  } else if (type == "WordLevel") {
    read_word_level(fields, parts);
  } else {
    fail_unknown(fields, "type", type);
  }
}

}  // namespace weft
