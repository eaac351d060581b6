#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/text/tokenizer/byte_alphabet.h"
#include "weft/text/tokenizer/gguf/gguf_form.h"
#include "weft/text/tokenizer/gguf/gguf_patterns.h"
#include "weft/text/tokenizer/tokenizer.h"
#include "weft/text/tokenizer/tokenizer_load.h"
#include "weft/text/tokenizer/tokenizer_parts.h"

namespace weft {
namespace {

using Model = Vocabulary::Model;
using TokenType = Vocabulary::TokenType;

constexpr char32_t kMetaspaceCharacter = 0x2581;
constexpr std::string_view kMetaspace = "\xE2\x96\x81";

/// Reads a Vocabulary into parts, table by table.
class VocabularyReader {
 public:
  VocabularyReader(const Vocabulary& vocabulary, std::string_view name) : from_(vocabulary) {
    parts_.name = name;
    parts_.tokens = std::make_shared<TokenTable>();
  }

  Result<TokenizerParts> read() {
    Result<void> done = check_tables();
    if (done) done = read_tokens();
    if (!done) return done.error();
    read_roles();
    read_added();
    switch (from_.model) {
      case Model::kByteLevelBpe:
        done = read_byte_level();
        break;
      case Model::kSentencePieceBpe:
        done = read_sentencepiece();
        break;
      case Model::kLineBpe:
        done = read_lines();
        break;
      case Model::kUnigram:
        done = read_unigram();
        break;
      case Model::kWordPiece:
        done = read_wordpiece();
        break;
    }
    if (!done) return done.error();
    parts_.chat_template = from_.chat_template;
    parts_.tool_chat_template = from_.tool_chat_template;
    return std::move(parts_);
  }

 private:
  [[nodiscard]] Error bad(std::string_view what) const { return bad_tokenizer(parts_.name, what); }

  [[nodiscard]] TokenType type(std::size_t id) const {
    return from_.types.empty() ? TokenType::kNormal : from_.types[id];
  }

  [[nodiscard]] bool is_byte(std::size_t id) const {
    return from_.types.empty() ? parse_byte_token(from_.tokens[id]).has_value()
                               : type(id) == TokenType::kByte;
  }

  [[nodiscard]] bool is_role(std::size_t id) const {
    const std::array roles = from_.special.all();
    return std::ranges::find(roles, static_cast<TokenId>(id)) != roles.end();
  }

  /// Whether the token is written only by templates or protocols.
  [[nodiscard]] bool is_special(std::size_t id) const {
    if (type(id) == TokenType::kControl || type(id) == TokenType::kUnknown) return true;
    return from_.types.empty() && is_role(id);
  }

  Result<void> check_tables() {
    const std::size_t size = from_.tokens.size();
    if (size == 0) return bad("tokens is empty");
    if (size > Tokenizer::kMaxTokens) return bad("tokens has more than 2^21 items");
    if (!from_.types.empty() && from_.types.size() != size) {
      return bad("token_type has " + std::to_string(from_.types.size()) + " items for " +
                 std::to_string(size) + " tokens");
    }
    const bool needs_scores =
        from_.model == Model::kSentencePieceBpe || from_.model == Model::kUnigram;
    if (from_.scores.size() != size && (needs_scores || !from_.scores.empty())) {
      return bad("scores has " + std::to_string(from_.scores.size()) + " items for " +
                 std::to_string(size) + " tokens");
    }
    if (!std::ranges::all_of(from_.scores, [](float score) { return std::isfinite(score); })) {
      return bad("scores has one that is not finite");
    }
    const std::array roles = from_.special.all();
    for (const TokenId id : roles) {
      if (id < kNoToken || id >= static_cast<TokenId>(size)) {
        return bad("the special token " + std::to_string(id) + " is not one of the " +
                   std::to_string(size) + " tokens");
      }
    }
    return {};
  }

  /// Returns a token in the stored spelling. WordPiece uses the spelling of vocab.txt, where GGUF
  /// has "▁" before a word's first token and no mark before others.
  [[nodiscard]] std::string spelling(std::size_t id) const {
    const std::string& text = from_.tokens[id];
    if (text.empty()) return "[EMPTY_" + std::to_string(id) + "]";
    if (is_special(id) || type(id) == TokenType::kUserDefined) return text;
    if (from_.model != Model::kWordPiece) return text;
    if (text.starts_with(kMetaspace)) return text.substr(kMetaspace.size());
    if (text.starts_with('[') && text.ends_with(']')) return text;
    return std::string("##").append(text);
  }

  Result<void> read_tokens() {
    TokenTable& tokens = *parts_.tokens;
    tokens.reserve(from_.tokens.size());
    for (std::size_t id = 0; id < from_.tokens.size(); ++id) {
      const std::string text = spelling(id);
      const std::string where = "token " + std::to_string(id);
      if (text.size() > Tokenizer::kMaxTokenBytes) return bad(where + " is too long");
      if (!is_utf8(text)) return bad(where + " is not UTF-8");
      const bool twice = tokens.find(text) != kNoToken;
      if (twice || (is_byte(id) && !parse_byte_token(text))) {
        std::string what = where;
        return bad(
            what.append(" \"").append(text).append(twice ? "\" is there twice" : "\" is no byte"));
      }
      tokens.add(text);
    }
    return {};
  }

  void read_roles() {
    const SpecialTokens& special = from_.special;
    parts_.roles = {special.bos, special.eos, special.unknown, special.padding, special.mask, {}};
    for (TokenId id = 0; std::cmp_less(id, from_.types.size()); ++id) {
      if (ends_by_name(from_, id)) parts_.roles.ends.push_back(id);
    }
    if (from_.add_bos && from_.special.bos != kNoToken)
      parts_.post_processor.before = {from_.special.bos};
    if (from_.add_eos && from_.special.eos != kNoToken)
      parts_.post_processor.after = {from_.special.eos};
  }

  void read_added() {
    std::string model_name = from_.model_name;
    std::ranges::transform(model_name, model_name.begin(), [](char c) {
      return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    });
    const bool is_phi3 = model_name.find("phi-3") != std::string::npos ||
                         model_name.find("phi3") != std::string::npos;
    for (std::size_t id = 0; id < from_.tokens.size(); ++id) {
      if (!is_special(id) && type(id) != TokenType::kUserDefined) continue;
      AddedToken token;
      token.content = parts_.tokens->text(static_cast<TokenId>(id));
      token.id = static_cast<TokenId>(id);
      token.special = is_special(id);
      const bool keeps_space =
          token.content == "<unk>" || token.content == "<s>" || token.content == "<|endoftext|>";
      token.right_strip = is_phi3 && !keeps_space;
      parts_.added.push_back(std::move(token));
    }
  }

  /// By id, whether text may become the token.
  [[nodiscard]] std::vector<bool> plain_tokens() const {
    std::vector<bool> plain(from_.tokens.size());
    for (std::size_t id = 0; id < plain.size(); ++id) plain[id] = !is_special(id) && !is_byte(id);
    return plain;
  }

  Result<void> read_byte_level() {
    const GgufPreTokenizer* pre = find_gguf_pre_tokenizer(from_.pre);
    if (pre == nullptr) {
      return Error{make_error_code(TextErrc::kUnknownTokenizerPart),
                   parts_.name + ": pre-tokenizer \"" + from_.pre + "\""};
    }
    auto steps = gguf_split_steps(*pre);
    if (!steps) return steps.error();
    BpeMerges merges;
    Result<void> done = read_merges(merges);
    if (!done) return done;
    BpeOptions options;
    options.over_bytes = true;
    options.whole_words = pre->whole_words;
    options.unknown = from_.special.unknown;
    parts_.pre_tokenizer = PreTokenizer(std::move(*steps));
    parts_.model.emplace(std::in_place_type<Bpe>, parts_.tokens, plain_tokens(), std::move(options),
                         std::move(merges));
    parts_.decoder = Decoder({ByteLevelDecoderStep{}});
    return {};
  }

  Result<void> read_merges(BpeMerges& merges) const {
    const TokenTable& tokens = *parts_.tokens;
    merges.reserve(from_.merges.size());
    for (std::size_t i = 0; i < from_.merges.size(); ++i) {
      const std::string_view rule = from_.merges[i];
      const std::size_t space = rule.find(' ', 1);
      if (space == std::string_view::npos) {
        return bad("merge " + std::to_string(i) + " is no pair");
      }
      const std::string_view left = rule.substr(0, space);
      const std::string_view right = rule.substr(space + 1);
      const TokenId left_id = tokens.find(left);
      const TokenId right_id = tokens.find(right);
      const TokenId merged = tokens.find(std::string(left).append(right));
      if (left_id == kNoToken || right_id == kNoToken || merged == kNoToken) {
        return bad("merge " + std::to_string(i) + " \"" + std::string(rule) +
                   "\" has a token that is not in tokens");
      }
      merges.add(left_id, right_id, {static_cast<std::uint32_t>(i), merged}, false);
    }
    return {};
  }

  void surround_with_metaspace() {
    std::vector<NormalizerStep> steps = parts_.normalizer.steps();
    if (from_.add_space_prefix) steps.emplace_back(PrependStep{std::string(kMetaspace)});
    steps.emplace_back(ReplaceStep{std::string(" "), std::string(kMetaspace)});
    parts_.normalizer = Normalizer(std::move(steps));
    std::vector<DecoderStep> decoders = {ReplaceStep{std::string(kMetaspace), " "},
                                         ByteFallbackStep{}, FuseStep{}};
    if (from_.add_space_prefix) decoders.emplace_back(StripDecoderStep{" ", 1, 0});
    parts_.decoder = Decoder(std::move(decoders));
  }

  /// Checks that text which no token covers becomes some token.
  Result<void> check_fallback() const {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool has_it =
          parts_.tokens->find(byte_token(static_cast<unsigned char>(byte))) != kNoToken;
      if (has_it || from_.special.unknown != kNoToken) continue;
      return bad("has neither all byte tokens nor an unknown token");
    }
    return {};
  }

  /// Reads a file of Gemma 4's, as llama.cpp does (src/llama-vocab.cpp,
  /// LLAMA_VOCAB_PRE_TYPE_GEMMA4).
  Result<void> read_lines() {
    if (Result<void> done = check_fallback(); !done) return done;
    Result<Regex> lines = Regex::compile(R"([^\n]+|\n+)");
    if (!lines) return lines.error();
    SplitStep split;
    split.pattern = *lines;
    BpeMerges merges;
    if (Result<void> done = read_merges(merges); !done) return done;
    std::vector<bool> breaks(from_.tokens.size());
    for (std::size_t id = 0; id < breaks.size(); ++id) {
      breaks[id] = from_.tokens[id].find_first_not_of('\n') == std::string::npos;
    }
    BpeOptions options;
    options.byte_fallback = true;
    options.whole_words = true;
    options.unknown = from_.special.unknown;
    options.fuse_unknown = true;
    parts_.pre_tokenizer = PreTokenizer({std::move(split)});
    parts_.model.emplace(std::in_place_type<Bpe>, parts_.tokens, breaks, std::move(options),
                         std::move(merges));
    surround_with_metaspace();
    return {};
  }

  Result<void> read_sentencepiece() {
    if (Result<void> done = check_fallback(); !done) return done;
    if (Result<void> done = normalize_first(); !done) return done;
    SymbolTable symbols(*this);
    BpeMerges merges = symbols.merges();
    BpeOptions options;
    options.byte_fallback = true;
    options.unknown = from_.special.unknown;
    options.fuse_unknown = true;
    Bpe bpe(parts_.tokens, plain_tokens(), std::move(options), std::move(merges));
    bpe.set_extra_symbols(symbols.extra());
    bpe.cut_before(kMetaspaceCharacter);
    parts_.model = std::move(bpe);
    surround_with_metaspace();
    return {};
  }

  /// SentencePiece merges any two neighbours that together are a token, the best score first. So
  /// every cut of a token into two symbols is a rule. A symbol is a token or a single character.
  class SymbolTable {
   public:
    explicit SymbolTable(const VocabularyReader& reader)
        : reader_(reader), plain_(reader.plain_tokens()) {
      std::vector<float> distinct = reader.from_.scores;
      std::ranges::sort(distinct, std::greater{});
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      for (std::size_t id = 0; id < plain_.size(); ++id) {
        if (!plain_[id]) continue;
        const auto rank =
            std::ranges::lower_bound(distinct, reader.from_.scores[id], std::greater{});
        add_rules(static_cast<TokenId>(id), static_cast<std::uint32_t>(rank - distinct.begin()));
      }
    }

    [[nodiscard]] BpeMerges merges() { return std::move(merges_); }
    [[nodiscard]] const std::vector<char32_t>& extra() const { return extra_; }

   private:
    void add_rules(TokenId id, std::uint32_t rank) {
      const std::string_view text = spelled(id);
      std::size_t cut = utf8_length(static_cast<unsigned char>(text[0]));
      while (cut < text.size()) {
        const TokenId left = symbol(text.substr(0, cut));
        const TokenId right = symbol(text.substr(cut));
        if (left != kNoToken && right != kNoToken) merges_.add(left, right, {rank, id}, false);
        cut += utf8_length(static_cast<unsigned char>(text[cut]));
      }
    }

    [[nodiscard]] std::string_view spelled(TokenId id) const {
      return reader_.parts_.tokens->text(id);
    }

    TokenId symbol(std::string_view text) {
      const TokenId id = reader_.parts_.tokens->find(text);
      if (id != kNoToken && plain_[static_cast<std::size_t>(id)]) return id;
      const Utf8Char first = utf8_at(text, 0);
      if (first.length != text.size()) return kNoToken;
      const auto next = static_cast<TokenId>(plain_.size() + extra_.size());
      const auto [known, is_new] = extra_ids_.try_emplace(first.code, next);
      if (is_new) extra_.push_back(first.code);
      return known->second;
    }

    const VocabularyReader& reader_;
    std::vector<bool> plain_;
    BpeMerges merges_;
    std::vector<char32_t> extra_;
    std::unordered_map<char32_t, TokenId> extra_ids_;
  };

  /// SentencePiece's changes to a text before it is cut into tokens.
  Result<void> normalize_first() {
    std::vector<NormalizerStep> steps;
    if (!from_.precompiled_charsmap.empty()) {
      Result<PrecompiledCharsmap> charsmap = PrecompiledCharsmap::parse(from_.precompiled_charsmap);
      if (!charsmap) return charsmap.error();
      steps.emplace_back(
          PrecompiledStep{std::make_shared<const PrecompiledCharsmap>(std::move(*charsmap))});
    }
    if (from_.remove_extra_whitespaces) {
      Result<Regex> spaces = Regex::compile(" {2,}");
      if (!spaces) return spaces.error();
      steps.emplace_back(ReplaceStep{*spaces, " "});
      steps.emplace_back(StripStep{});
    }
    parts_.normalizer = Normalizer(std::move(steps));
    return {};
  }

  Result<void> read_unigram() {
    if (from_.special.unknown == kNoToken) return bad("has no unknown token");
    if (Result<void> done = normalize_first(); !done) return done;
    surround_with_metaspace();
    parts_.model.emplace(std::in_place_type<Unigram>, parts_.tokens,
                         std::vector<double>(from_.scores.begin(), from_.scores.end()),
                         plain_tokens(), from_.special.unknown, true);
    return {};
  }

  Result<void> read_wordpiece() {
    if (from_.special.unknown == kNoToken) return bad("has no unknown token");
    std::vector<std::pair<std::string_view, TokenId>> beginnings;
    std::vector<std::pair<std::string_view, TokenId>> continuations;
    const std::vector<bool> plain = plain_tokens();
    for (TokenId id = 0; id < static_cast<TokenId>(plain.size()); ++id) {
      if (!plain[static_cast<std::size_t>(id)]) continue;
      const std::string_view text = parts_.tokens->text(id);
      if (text.starts_with("##")) {
        continuations.emplace_back(text.substr(2), id);
      } else {
        beginnings.emplace_back(text, id);
      }
    }
    parts_.normalizer = Normalizer({BertStep{}});
    parts_.pre_tokenizer =
        PreTokenizer({SplitStep{SplitClass::kWhiteSpace, SplitBehavior::kRemoved},
                      SplitStep{SplitClass::kPunctuation, SplitBehavior::kIsolated}});
    // llama.cpp accepts words of any length.
    parts_.model.emplace(std::in_place_type<WordPiece>, ByteTrie(std::move(beginnings)),
                         ByteTrie(std::move(continuations)), from_.special.unknown,
                         Tokenizer::kMaxTextBytes);
    parts_.decoder = Decoder({WordPieceDecoderStep{"##", true}});
    const TokenId first =
        from_.special.classifier != kNoToken ? from_.special.classifier : from_.special.bos;
    const TokenId last =
        from_.special.separator != kNoToken ? from_.special.separator : from_.special.eos;
    parts_.post_processor = {};
    if (first != kNoToken) parts_.post_processor.before = {first};
    if (last != kNoToken) parts_.post_processor.after = {last};
    // BERT's form; no table of the file states it.
    parts_.post_processor.pair = PairForm{parts_.post_processor.before, parts_.post_processor.after,
                                          parts_.post_processor.after, true};
    return {};
  }

  const Vocabulary& from_;
  TokenizerParts parts_;
};

}  // namespace

Result<TokenizerParts> read_vocabulary(const Vocabulary& vocabulary, std::string_view name) {
  return VocabularyReader(vocabulary, name).read();
}

Result<Tokenizer> Tokenizer::from_vocabulary(const Vocabulary& vocabulary, std::string_view name) {
  Result<TokenizerParts> parts = read_vocabulary(vocabulary, name);
  if (!parts) return parts.error();
  return assemble(std::move(*parts));
}

}  // namespace weft
