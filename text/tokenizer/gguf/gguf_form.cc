#include "weft/text/tokenizer/gguf/gguf_form.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/text/json/json_document.h"
#include "weft/text/tokenizer/byte_alphabet.h"
#include "weft/text/tokenizer/gguf/gguf_patterns.h"
#include "weft/text/tokenizer/json/tokenizer_fields.h"
#include "weft/text/tokenizer/split/pieces.h"
#include "weft/text/tokenizer/tokenizer.h"
#include "weft/text/tokenizer/tokenizer_load.h"

namespace weft {
namespace {

using simdjson::dom::element;
using Model = Vocabulary::Model;
using TokenType = Vocabulary::TokenType;

/// Texts in which splitting patterns differ: scripts, marks, numbers, contractions, white space.
constexpr std::array<std::string_view, 24> kProbes = {
    "Hello, world! It's 10 o'clock; they'll say \"I'VE DONE it\", don't we'd?",
    "1 12 123 1234 12345 1234567890 3.14159 1,000,000.00 2024-02-29T23:59:59Z",
    "  two  spaces,   three,    four\tand\ttabs \t mixed ",
    "line\nline\n\nparagraph\r\n\r\nwindows\n \n  indented\n\n\n\nmany\n",
    "for (int i = 0; i < n; ++i) { a[i] += b[i] * 0x1F; } // comment\n\treturn a->b != c && d;",
    "snake_case camelCase PascalCase kebab-case SCREAMING_CASE __init__ a.b.c @me #tag $var %d",
    "!!! ??? ... ---- ____ ==== **** //// \\\\\\\\ ((())) [[]] {{}} <<>> ||| &&& ^^^ ~~~ ``` '''",
    "caf\xC3\xA9 na\xC3\xAFve Stra\xC3\x9F"
    "e \xC5\x81\xC3\xB3"
    "d\xC5\xBA \xC4\xB0stanbul e\xCC\x81 o\xCC\x88 \xC5\xBF",
    "\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82, \xD0\xBC\xD0\xB8\xD1\x80! "
    "\xCE\xBA\xCE\xB1\xCE\xBB\xCE\xB7\xCE\xBC\xCE\xAD\xCF\x81\xCE\xB1 123",
    "\xE4\xBD\xA0\xE5\xA5\xBD\xEF\xBC\x8C\xE4\xB8\x96\xE7\x95\x8C\xE3\x80\x82 "
    "\xE6\xBC\xA2\xE5\xAD\x97 2024\xE5\xB9\xB4 mixed\xE4\xB8\xAD\xE6\x96\x87text",
    "\xE3\x81\x93\xE3\x82\x93\xE3\x81\xAB\xE3\x81\xA1\xE3\x81\xAF "
    "\xE3\x82\xAB\xE3\x82\xBF\xE3\x82\xAB\xE3\x83\x8A \xEF\xBD\xB6\xEF\xBE\x80",
    "\xEC\x95\x88\xEB\x85\x95\xED\x95\x98\xEC\x84\xB8\xEC\x9A\x94 \xEC\x84\xB8\xEA\xB3\x84",
    "\xD9\x85\xD8\xB1\xD8\xAD\xD8\xA8\xD8\xA7 \xD9\xA1\xD9\xA2\xD9\xA3\xD9\xA4 "
    "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D",
    "\xE0\xA4\xA8\xE0\xA4\xAE\xE0\xA4\xB8\xE0\xA5\x8D\xE0\xA4\xA4\xE0\xA5\x87 "
    "\xE0\xA5\xA7\xE0\xA5\xA8\xE0\xA5\xA9 "
    "\xE0\xB8\xAA\xE0\xB8\xA7\xE0\xB8\xB1\xE0\xB8\xAA\xE0\xB8\x94\xE0\xB8\xB5",
    "\xE1\x9E\x9F\xE1\x9E\xBD\xE1\x9E\x9F\xE1\x9F\x92\xE1\x9E\x8F\xE1\x9E\xB8 "
    "\xE1\x80\x99\xE1\x80\x84\xE1\x80\xBA",
    "\xF0\x9F\x98\x80\xF0\x9F\x9A\x80 \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9"
    "\xE2\x80\x8D\xF0\x9F\x91\xA7 \xE2\x9C\x85 \xE2\x82\xAC"
    "5 \xC2\xA3"
    "3 \xC2\xB1 \xE2\x88\x9E",
    "\xC2\xBD \xC2\xB2\xC2\xB3 \xE2\x85\xA7 \xE2\x91\xA0 \xEF\xBC\x91\xEF\xBC\x92 \xE2\x80\x9C"
    "quoted\xE2\x80\x9D \xE2\x80\x94 dash\xE2\x80\xA6",
    "don\xE2\x80\x99t 'S 'T 'RE 'VE 'M 'LL 'D 's 't 're 've 'm 'll 'd 'xx",
    "\xC2\xA0no\xC2\xA0"
    "break\xE3\x80\x80wide\xE2\x80\x83"
    "em \xE2\x80\x8Bzero",
    " leading",
    "trailing ",
    "a",
    " ",
    "\n"};

// Names of tokens that end a turn where a file does not name them.
constexpr std::array<std::string_view, 10> kEndNames = {
    "<|eot_id|>", "<|im_end|>",      "<|end|>", "<end_of_turn>", "<|endoftext|>",
    "<|eom_id|>", "<|end_of_text|>", "<EOT>",   "<|eot|>",       "<|return|>"};

// Tokens that end Gemma 4's turns, whatever type the file gives them; after the last one comes a
// tool's result.
constexpr std::array<std::string_view, 3> kGemma4Ends = {"<eos>", "<turn|>", "<|tool_response>"};

class FormMaker {
 public:
  FormMaker(const TokenizerParts& parts, const TokenizerFields& root)
      : parts_(parts), model_(root.needed_child("model")) {}

  Result<Vocabulary> make() {
    if (model_.error()) return *model_.error();
    // A file without a type is BPE if it has merges.
    if (!model_.has("merges") || model_.text("type").value_or("BPE") != "BPE")
      return no_form("model.type \"" + std::string(model_.text("type").value_or("?")) + '"');
    if (!model_.text("continuing_subword_prefix").value_or("").empty() ||
        !model_.text("end_of_word_suffix").value_or("").empty())
      return no_form("model.continuing_subword_prefix or model.end_of_word_suffix");
    is_bytes_ = !model_.flag("byte_fallback").value_or(false);
    made_.model = is_bytes_ ? Model::kByteLevelBpe : Model::kSentencePieceBpe;
    made_.chat_template = parts_.chat_template;
    made_.tool_chat_template = parts_.tool_chat_template;
    take_tokens();
    Result<void> done = take_added();
    if (done) done = take_around();
    if (done) done = is_bytes_ ? take_byte_level() : take_sentencepiece();
    if (!done) return done.error();
    return std::move(made_);
  }

 private:
  [[nodiscard]] Error no_form(const std::string& what) const {
    return {make_error_code(TextErrc::kUnknownTokenizerPart),
            parts_.name + ": GGUF has no form for " + what};
  }

  void take_tokens() {
    for (std::size_t id = 0; id < parts_.tokens->size(); ++id) {
      made_.tokens.emplace_back(parts_.tokens->text(static_cast<TokenId>(id)));
      const bool is_byte = !is_bytes_ && parse_byte_token(made_.tokens.back()).has_value();
      made_.types.push_back(is_byte ? TokenType::kByte : TokenType::kNormal);
    }
    made_.special.bos = parts_.roles.bos;
    made_.special.eos = parts_.roles.eos;
    made_.special.unknown = parts_.roles.unknown;
    made_.special.padding = parts_.roles.padding;
  }

  Result<void> take_added() {
    for (const AddedToken& token : parts_.added) {
      if (token.left_strip || token.right_strip || token.single_word)
        return no_form("the added token \"" + token.content +
                       "\" with lstrip, rstrip or single_word");
      made_.types[static_cast<std::size_t>(token.id)] =
          token.special ? TokenType::kControl : TokenType::kUserDefined;
    }
    if (!is_bytes_ && parts_.roles.unknown != kNoToken)
      made_.types[static_cast<std::size_t>(parts_.roles.unknown)] = TokenType::kUnknown;
    return {};
  }

  Result<void> take_around() {
    const auto is_one = [](const std::vector<TokenId>& side, TokenId token) {
      return side.empty() || (token != kNoToken && side == std::vector{token});
    };
    const std::vector<TokenId>& before = parts_.post_processor.before;
    const std::vector<TokenId>& after = parts_.post_processor.after;
    if (!is_one(before, made_.special.bos) || !is_one(after, made_.special.eos))
      return no_form("the post_processor, which adds more than BOS and EOS");
    made_.add_bos = !before.empty();
    made_.add_eos = !after.empty();
    return {};
  }

  Result<void> take_byte_level() {
    for (const NormalizerStep& step : parts_.normalizer.steps()) {
      if (!std::holds_alternative<NormalizationForm>(step)) return no_form("the normalizer");
    }
    made_.add_space_prefix = false;
    for (const element merge : model_.needed_items("merges"))
      made_.merges.push_back(pair_of(merge));
    const auto pre = find_pre();
    if (!pre) return no_form("how the pre_tokenizer splits");
    made_.pre = *pre;
    return {};
  }

  /// Returns "left right", even where the file has a list of two.
  static std::string pair_of(element merge) {
    std::string_view text;
    if (merge.get(text) == simdjson::SUCCESS) return std::string(text);
    std::string pair;
    for (const element side : simdjson::dom::array(merge)) {
      if (!pair.empty()) pair += ' ';
      pair += std::string_view(side);
    }
    return pair;
  }

  /// Returns the first name whose patterns cut all probes like the file's.
  [[nodiscard]] std::optional<std::string_view> find_pre() const {
    const bool whole_words = model_.flag("ignore_merges").value_or(false);
    const auto wanted = cuts_of(parts_.pre_tokenizer);
    if (!wanted) return std::nullopt;
    for (const std::string_view name : gguf_pre_tokenizer_names()) {
      const GgufPreTokenizer& pre = *find_gguf_pre_tokenizer(name);
      if (name.empty() || pre.whole_words != whole_words) continue;
      const auto steps = gguf_split_steps(pre);
      if (steps && cuts_of(PreTokenizer(*steps)) == wanted) return name;
    }
    return std::nullopt;
  }

  static std::optional<std::vector<std::string>> cuts_of(const PreTokenizer& pre) {
    std::vector<std::string> cuts;
    for (const std::string_view probe : kProbes) {
      Pieces pieces{std::string(probe), {{0, probe.size()}}, true};
      if (!pre.apply(pieces)) return std::nullopt;
      for (const TextRange& range : pieces.ranges) cuts.emplace_back(pieces.at(range));
      cuts.emplace_back();
    }
    return cuts;
  }

  /// SentencePiece merges by the scores of the results, so the file's rules must be in the order of
  /// their results. The comparison of the two tokenizers shows whether all rules are there.
  Result<void> take_sentencepiece() {
    made_.scores.assign(made_.tokens.size(), 0);
    std::map<std::string, float, std::less<>> ranks;
    float rank = 0;
    for (const element merge : model_.needed_items("merges")) {
      std::string pair = pair_of(merge);
      pair.erase(pair.find(' ', 1), 1);
      ranks.try_emplace(std::move(pair), -(++rank));
    }
    for (std::size_t id = 0; id < made_.tokens.size(); ++id) {
      const auto found = ranks.find(made_.tokens[id]);
      // A single character has no merge.
      if (made_.types[id] == TokenType::kNormal)
        made_.scores[id] = found == ranks.end() ? -(rank + 1) : found->second;
    }
    made_.add_space_prefix = puts_space_first();
    return {};
  }

  [[nodiscard]] bool puts_space_first() const {
    const auto prepends = [](const NormalizerStep& step) {
      return std::holds_alternative<PrependStep>(step);
    };
    const auto& before = parts_.normalizer.steps();
    const auto& steps = parts_.pre_tokenizer.steps();
    return std::ranges::any_of(before, prepends) ||
           std::ranges::any_of(steps, [](const PreTokenizerStep& step) {
             const auto* space = std::get_if<MetaspaceStep>(&step);
             return space != nullptr && space->prepend != MetaspaceStep::Prepend::kNever;
           });
  }

  const TokenizerParts& parts_;
  TokenizerFields model_;
  Vocabulary made_;
  bool is_bytes_ = true;
};

/// Finds the first text of which two tokenizers make different tokens.
class Comparison {
 public:
  Comparison(const Tokenizer& own, const Tokenizer& made) : own_(own), made_(made) {}

  [[nodiscard]] std::optional<std::string> first_difference() const {
    for (const std::string_view probe : kProbes) {
      if (!is_same(probe)) return std::string(probe);
    }
    for (TokenId id = 0; std::cmp_less(id, own_.vocabulary_size()); ++id) {
      std::string text;
      if (!own_.append_bytes(id, text)) return std::string("token ") + std::to_string(id);
      if (!is_same(text)) return text;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool is_same(std::string_view text) const {
    for (const bool parse_special : {false, true}) {
      std::vector<TokenId> wanted;
      std::vector<TokenId> got;
      const EncodeOptions options{.parse_special = parse_special};
      if (!own_.encode(text, options, wanted) || !made_.encode(text, options, got) ||
          wanted != got) {
        return false;
      }
      const auto own = own_.decode(wanted, true);
      const auto made = made_.decode(got, true);
      if (!own || !made || *own != *made) return false;
    }
    return true;
  }

  const Tokenizer& own_;
  const Tokenizer& made_;
};

}  // namespace

Result<Vocabulary> gguf_form(const std::filesystem::path& path) {
  auto loaded = load_tokenizer_parts(path);
  if (!loaded) return loaded.error();
  const auto document = JsonDocument::parse(loaded->text, loaded->parts.name);
  if (!document) return document.error();
  const TokenizerFields root(document->root().get_object(), loaded->parts.name);
  auto vocabulary = FormMaker(loaded->parts, root).make();
  if (!vocabulary) return vocabulary.error();
  if (root.error()) return *root.error();
  const auto own = Tokenizer::load(path);
  if (!own) return own.error();
  const auto made = Tokenizer::from_vocabulary(*vocabulary, loaded->parts.name + " as GGUF");
  if (!made) return made.error();
  if (const auto text = Comparison(*own, *made).first_difference()) {
    return Error{make_error_code(TextErrc::kUnknownTokenizerPart),
                 loaded->parts.name + ": GGUF has no form for all of it: \"" + *text +
                     "\" would become other tokens"};
  }
  return vocabulary;
}

bool ends_by_name(const Vocabulary& vocabulary, TokenId token) {
  const auto id = static_cast<std::size_t>(token);
  if (vocabulary.model == Model::kLineBpe && token >= 0 && id < vocabulary.tokens.size() &&
      std::ranges::find(kGemma4Ends, std::string_view(vocabulary.tokens[id])) != kGemma4Ends.end())
    return true;
  if (token < 0 || id >= vocabulary.types.size() || vocabulary.types[id] != TokenType::kControl)
    return false;
  return std::ranges::find(kEndNames, std::string_view(vocabulary.tokens[id])) != kEndNames.end();
}

}  // namespace weft
