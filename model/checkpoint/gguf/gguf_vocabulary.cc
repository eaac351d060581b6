#include "weft/model/checkpoint/gguf/gguf_vocabulary.h"

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/io/byte_reader.h"
#include "weft/model/checkpoint/checkpoint_file.h"

namespace weft {
namespace {

constexpr std::uint64_t kMaxGgufTokens = 1U << 21U;  // eight times the largest vocabulary in use
constexpr std::uint64_t kMaxMerges = 1U << 22U;
constexpr std::uint64_t kMaxGgufTokenBytes = 65'536;

/// A kind of tokenizer with its defaults for files that do not state them (llama.cpp,
/// src/llama-vocab.cpp).
struct Kind {
  std::string_view name;
  Vocabulary::Model model;
  SpecialTokens special = {};
  bool add_bos = false;
  bool always_adds_bos = false;  ///< even if the file says otherwise
  bool add_eos = false;
  bool add_space_prefix = false;
};

constexpr std::array kKinds = {
    Kind{.name = "gpt2", .model = Vocabulary::Model::kByteLevelBpe},
    Kind{.name = "llama",
         .model = Vocabulary::Model::kSentencePieceBpe,
         .special = {.bos = 1, .eos = 2, .unknown = 0},
         .add_bos = true,
         .add_space_prefix = true},
    // Its scores have no meaning.
    Kind{.name = "gemma4",
         .model = Vocabulary::Model::kLineBpe,
         .add_bos = true,
         .always_adds_bos = true},
    Kind{.name = "t5",
         .model = Vocabulary::Model::kUnigram,
         .special = {.eos = 1, .unknown = 2, .padding = 0},
         .add_eos = true,
         .add_space_prefix = true},
    Kind{
        .name = "bert",
        .model = Vocabulary::Model::kWordPiece,
        .special = {.unknown = 100, .separator = 102, .padding = 0, .classifier = 101, .mask = 103},
        .add_bos = true,
        .add_eos = true},
};

// Pre-tokenizers that need the bos token although their files do not say so.
constexpr std::array<std::string_view, 10> kPreWithBos = {
    "llama3",  "llama-v3", "llama-bpe", "falcon3", "falcon-h1",
    "pixtral", "midm-2.0", "lfm2",      "tekken",  "chameleon"};

class VocabularyReader {
 public:
  VocabularyReader(const GgufMetadata& metadata, std::string_view file)
      : metadata_(metadata), file_(file) {}

  Result<std::shared_ptr<const Vocabulary>> read();

 private:
  [[nodiscard]] Error bad(std::string_view key, std::string_view what) const {
    return bad_checkpoint(file_, std::string(key) + ": " + std::string(what));
  }

  Result<const Kind*> read_kind() const;
  Result<void> read_arrays(Vocabulary& vocabulary) const;
  Result<void> read_ids(const Kind& kind, Vocabulary& vocabulary) const;
  Result<void> read_flags(const Kind& kind, Vocabulary& vocabulary) const;

  /// Returns the tokenizer's array, or null. Its elements are of `type`, and at most `most`.
  Result<const GgufArray*> array(std::string_view key, GgufType type, std::uint64_t most) const;
  Result<std::vector<std::string>> strings(std::string_view key, std::uint64_t most) const;
  Result<void> read_scores(Vocabulary& vocabulary) const;
  Result<void> read_types(Vocabulary& vocabulary) const;
  Result<std::string> text(std::string_view key) const;
  Result<bool> flag(std::string_view key, bool otherwise) const;
  Result<TokenId> id(std::string_view key, TokenId otherwise, std::size_t tokens,
                     bool must_exist) const;

  const GgufMetadata& metadata_;
  std::string_view file_;
};

Result<std::shared_ptr<const Vocabulary>> VocabularyReader::read() {
  const auto kind = read_kind();
  if (!kind) return kind.error();
  if (*kind == nullptr) return std::shared_ptr<const Vocabulary>();
  Vocabulary vocabulary;
  vocabulary.model = (*kind)->model;
  auto pre = text("tokenizer.ggml.pre");
  if (!pre) return pre.error();
  vocabulary.pre = std::move(*pre);
  auto chat_template = text("tokenizer.chat_template");
  if (!chat_template) return chat_template.error();
  vocabulary.chat_template = std::move(*chat_template);
  auto tool_template = text("tokenizer.chat_template.tool_use");
  if (!tool_template) return tool_template.error();
  vocabulary.tool_chat_template = std::move(*tool_template);
  if (const auto done = read_arrays(vocabulary); !done) return done.error();
  if (const auto done = read_ids(**kind, vocabulary); !done) return done.error();
  if (const auto done = read_flags(**kind, vocabulary); !done) return done.error();
  return std::make_shared<const Vocabulary>(std::move(vocabulary));
}

Result<const Kind*> VocabularyReader::read_kind() const {
  constexpr std::string_view kKey = "tokenizer.ggml.model";
  const auto name = text(kKey);
  if (!name) return name.error();
  if (name->empty() || *name == "none" || *name == "no_vocab") return nullptr;
  const auto* kind = std::ranges::find(kKinds, *name, &Kind::name);
  if (kind == kKinds.end())
    return unsupported_checkpoint(file_, std::string(kKey) + " is " + in_quotes(*name));
  return kind;
}

Result<void> VocabularyReader::read_arrays(Vocabulary& vocabulary) const {
  auto tokens = strings("tokenizer.ggml.tokens", kMaxGgufTokens);
  if (!tokens) return tokens.error();
  if (tokens->empty()) return bad("tokenizer.ggml.tokens", "is missing or empty");
  vocabulary.tokens = std::move(*tokens);
  auto merges = strings("tokenizer.ggml.merges", kMaxMerges);
  if (!merges) return merges.error();
  vocabulary.merges = std::move(*merges);
  if (const auto done = read_scores(vocabulary); !done) return done.error();
  return read_types(vocabulary);
}

Result<const GgufArray*> VocabularyReader::array(std::string_view key, GgufType type,
                                                 std::uint64_t most) const {
  const auto found = metadata_.tokenizer_arrays.find(key);
  if (found == metadata_.tokenizer_arrays.end()) {
    if (metadata_.values.contains(key)) return bad(key, "is no array");
    return nullptr;
  }
  if (found->second.type != type)
    return bad(key, "its elements are of type " +
                        std::to_string(static_cast<std::uint32_t>(found->second.type)) + ", not " +
                        std::to_string(static_cast<std::uint32_t>(type)));
  if (found->second.count > most)
    return bad(key, "has " + std::to_string(found->second.count) + " elements, more than " +
                        std::to_string(most));
  return &found->second;
}

Result<std::vector<std::string>> VocabularyReader::strings(std::string_view key,
                                                           std::uint64_t most) const {
  const auto found = array(key, GgufType::kString, most);
  if (!found) return found.error();
  std::vector<std::string> texts;
  if (*found == nullptr) return texts;
  texts.reserve((*found)->count);
  FieldReader fields((*found)->bytes);
  for (std::uint64_t i = 0; i < (*found)->count; ++i) {
    const auto size = fields.take<std::uint64_t>("length of text");
    if (size > kMaxGgufTokenBytes)
      return bad(key, "element " + std::to_string(i) + " has " + std::to_string(size) +
                          " bytes, more than " + std::to_string(kMaxGgufTokenBytes));
    texts.emplace_back(fields.text(size, "text"));
  }
  if (fields.failed()) return bad(key, fields.error().detail);
  return texts;
}

Result<void> VocabularyReader::read_scores(Vocabulary& vocabulary) const {
  constexpr std::string_view kKey = "tokenizer.ggml.scores";
  const auto found = array(kKey, GgufType::kF32, kMaxGgufTokens);
  if (!found) return found.error();
  if (*found == nullptr) return {};
  if ((*found)->count != vocabulary.tokens.size())
    return bad(kKey, std::to_string((*found)->count) + " scores for " +
                         std::to_string(vocabulary.tokens.size()) + " tokens");
  vocabulary.scores.resize(vocabulary.tokens.size());
  std::memcpy(vocabulary.scores.data(), (*found)->bytes.data(), (*found)->bytes.size());
  return {};
}

Result<void> VocabularyReader::read_types(Vocabulary& vocabulary) const {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  const auto found = array(kKey, GgufType::kI32, kMaxGgufTokens);
  if (!found) return found.error();
  if (*found == nullptr) return {};
  if ((*found)->count != vocabulary.tokens.size())
    return bad(kKey, std::to_string((*found)->count) + " types for " +
                         std::to_string(vocabulary.tokens.size()) + " tokens");
  vocabulary.types.reserve(vocabulary.tokens.size());
  FieldReader fields((*found)->bytes);
  for (std::uint64_t i = 0; i < (*found)->count; ++i) {
    const auto type = fields.take<std::int32_t>("type");
    if (type < static_cast<int>(Vocabulary::TokenType::kNormal) ||
        type > static_cast<int>(Vocabulary::TokenType::kByte))
      return bad(kKey, "token " + std::to_string(i) + " has type " + std::to_string(type));
    vocabulary.types.push_back(static_cast<Vocabulary::TokenType>(type));
  }
  return {};
}

Result<std::string> VocabularyReader::text(std::string_view key) const {
  const auto* value = metadata_.values.if_contains(key);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return bad(key, "is no text");
  return std::string(value->get_string());
}

Result<bool> VocabularyReader::flag(std::string_view key, bool otherwise) const {
  const auto* value = metadata_.values.if_contains(key);
  if (value == nullptr) return otherwise;
  if (!value->is_bool()) return bad(key, "is no bool");
  return value->get_bool();
}

Result<TokenId> VocabularyReader::id(std::string_view key, TokenId otherwise, std::size_t tokens,
                                     bool must_exist) const {
  const auto* value = metadata_.values.if_contains(key);
  if (value == nullptr)
    return otherwise != kNoToken && std::cmp_less(otherwise, tokens) ? otherwise : kNoToken;
  if (!value->is_int64()) return bad(key, "is no token");
  const std::int64_t number = value->get_int64();
  if (number >= 0 && std::cmp_less(number, tokens)) return static_cast<TokenId>(number);
  if (must_exist) return bad(key, std::to_string(number) + " of " + std::to_string(tokens));
  return kNoToken;
}

Result<void> VocabularyReader::read_ids(const Kind& kind, Vocabulary& vocabulary) const {
  struct Row {
    std::string_view key;
    TokenId& target;
    bool must_exist;
  };
  SpecialTokens& special = vocabulary.special;
  special = kind.special;
  for (const Row& row : {Row{"tokenizer.ggml.bos_token_id", special.bos, true},
                         Row{"tokenizer.ggml.eos_token_id", special.eos, true},
                         Row{"tokenizer.ggml.unknown_token_id", special.unknown, false},
                         // The format's own spelling.
                         Row{"tokenizer.ggml.seperator_token_id", special.separator, false},
                         Row{"tokenizer.ggml.padding_token_id", special.padding, false},
                         Row{"tokenizer.ggml.cls_token_id", special.classifier, false},
                         Row{"tokenizer.ggml.mask_token_id", special.mask, false}}) {
    const auto found = id(row.key, row.target, vocabulary.tokens.size(), row.must_exist);
    if (!found) return found.error();
    row.target = *found;
  }
  return {};
}

Result<void> VocabularyReader::read_flags(const Kind& kind, Vocabulary& vocabulary) const {
  const bool adds_bos =
      kind.add_bos || (kind.model == Vocabulary::Model::kByteLevelBpe &&
                       std::ranges::find(kPreWithBos, vocabulary.pre) != kPreWithBos.end());
  struct Row {
    std::string_view key;
    bool otherwise;
    bool& target;
  };
  for (const Row& row :
       {Row{"tokenizer.ggml.add_bos_token", adds_bos, vocabulary.add_bos},
        Row{"tokenizer.ggml.add_eos_token", kind.add_eos, vocabulary.add_eos},
        Row{"tokenizer.ggml.add_space_prefix", kind.add_space_prefix, vocabulary.add_space_prefix},
        Row{"tokenizer.ggml.remove_extra_whitespaces", false,
            vocabulary.remove_extra_whitespaces}}) {
    const auto found = flag(row.key, row.otherwise);
    if (!found) return found.error();
    row.target = *found;
  }
  vocabulary.add_bos = vocabulary.add_bos || kind.always_adds_bos;
  return {};
}

}  // namespace

Result<std::shared_ptr<const Vocabulary>> read_gguf_vocabulary(const GgufMetadata& metadata,
                                                               std::string_view file) {
  return VocabularyReader(metadata, file).read();
}

}  // namespace weft
