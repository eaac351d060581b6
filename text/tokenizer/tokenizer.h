#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {

class Decoder;
struct PairForm;
struct TokenizerParts;

struct EncodeOptions {
  /// Adds the tokens that the tokenizer's post-processor puts around a text: BOS, EOS, [CLS], ...
  bool add_special = true;
  /// Turns the texts of special tokens into these tokens. It is false for users' texts, in which
  /// "<|im_start|>" is text like any other. Added tokens that are not special are always found.
  bool parse_special = false;
  /// Used with parse_special, where a template wrote the text around a user's text. Gives the
  /// ascending byte offsets at which no special token begins, because the user wrote the text
  /// there. Special tokens are then searched in the original text, not in the normalized text. Text
  /// that is not valid UTF-8 has none.
  std::optional<std::span<const std::size_t>> literals{};
  /// The most tokens that the caller can use. encode() ends with kTooManyTokens as soon as it knows
  /// that there are more; with most tokenizers the size of the text shows it.
  std::size_t max_tokens = std::numeric_limits<std::size_t>::max();
};

/// Turns text into a model's tokens and back, like Hugging Face's `tokenizers` for tokenizer.json
/// and llama.cpp for a GGUF file. Immutable, thread-safe and cheap to copy: copies share
/// everything.
///
/// Text is bytes. Bytes that are not UTF-8 are read as U+FFFD, one for each maximal part of a
/// broken character, like Python's bytes.decode("utf-8", "replace").
class Tokenizer {
 public:
  /// The largest text that is encoded at once.
  static constexpr std::size_t kMaxTextBytes = std::size_t{256} << 20;
  /// Bounds of a vocabulary: tokens, and bytes of one token.
  static constexpr std::size_t kMaxTokens = std::size_t{1} << 21;
  static constexpr std::size_t kMaxTokenBytes = std::size_t{64} << 10;

  /// Reads the text of a tokenizer.json; errors call it `name`. Finds no BOS, EOS or chat template,
  /// which are in files beside it. kBadTokenizer names the field; kUnknownTokenizerPart the part.
  [[nodiscard]] static Result<Tokenizer> from_json(std::string_view tokenizer_json,
                                                   std::string_view name);

  /// Makes a tokenizer from the tables of a GGUF file or of llama2.c's tokenizer.bin. kBadTokenizer
  /// for tables that disagree, kUnknownTokenizerPart for an unknown `pre`.
  [[nodiscard]] static Result<Tokenizer> from_vocabulary(const Vocabulary& vocabulary,
                                                         std::string_view name);

  /// Loads a tokenizer.json, or the one in a folder, with the files beside it:
  /// tokenizer_config.json, special_tokens_map.json, generation_config.json, config.json,
  /// chat_template.jinja and additional_chat_templates/tool_use.jinja. Errors of from_json and of
  /// core/io/file.h.
  [[nodiscard]] static Result<Tokenizer> load(const std::filesystem::path& path);

  /// Returns the tokenizer of a model without tokenizer files: it has no token, and encode() and
  /// decode() fail with kNoTokenizer.
  [[nodiscard]] static Tokenizer none();
  /// Returns false for none().
  [[nodiscard]] bool exists() const noexcept;

  /// Appends the tokens of `text` to `out`. kTextTooLarge above kMaxTextBytes, when a normalizer
  /// makes it larger than 4 times its size and 1 KiB, or when a pattern of the file backtracks past
  /// its bound; kTooManyTokens. After an error `out` is unchanged.
  [[nodiscard]] Result<void> encode(std::string_view text, EncodeOptions options,
                                    std::vector<TokenId>& out) const;

  /// Returns the most bytes that one token can stand for in any text. It allows for normalization
  /// that shrinks a text. A text with more bytes than `n` times this number has more than `n`
  /// tokens. Nothing where one token may stand for any number of bytes, as with normalizers that
  /// drop white space.
  [[nodiscard]] std::optional<std::size_t> bytes_per_token(bool parse_special) const noexcept;

  /// Bytes begin .. end - 1 of a text are the text of a special token.
  struct SpecialText {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// Returns every offset of `text` where the text of a special token begins, and the end of the
  /// longest such text. Ascending; the ranges may overlap.
  [[nodiscard]] std::vector<SpecialText> special_texts(std::string_view text) const;

  /// Returns the text of a whole sequence, as valid UTF-8: incomplete characters become U+FFFD.
  /// `skip_special` leaves special tokens out. kNoSuchToken for an id that is not in the
  /// vocabulary.
  [[nodiscard]] Result<std::string> decode(std::span<const TokenId> ids, bool skip_special) const;

  /// Returns a token in the vocabulary's spelling ("Ġthe", "▁the", "<0x0A>"). kNoSuchToken.
  [[nodiscard]] Result<std::string_view> token(TokenId id) const;

  /// Appends the bytes that a token stands for in the middle of a text (" the", "\n"); they may be
  /// a part of a character. kNoSuchToken.
  [[nodiscard]] Result<void> append_bytes(TokenId id, std::string& out) const;

  /// Returns the id of a token in the vocabulary's spelling, or kNoToken.
  [[nodiscard]] TokenId id_of(std::string_view token) const noexcept;

  /// V: ids are 0 .. V-1.
  [[nodiscard]] std::size_t vocabulary_size() const noexcept;

  /// Returns false for an id that is not in the vocabulary.
  [[nodiscard]] bool is_special(TokenId id) const noexcept;

  /// Each is kNoToken where the files name none.
  [[nodiscard]] TokenId bos() const noexcept;
  [[nodiscard]] TokenId eos() const noexcept;
  [[nodiscard]] TokenId unknown() const noexcept;
  [[nodiscard]] TokenId padding() const noexcept;
  /// Returns the token that a masked language model replaces.
  [[nodiscard]] TokenId mask() const noexcept;

  /// Returns every token that ends a generation, EOS among them; sorted.
  [[nodiscard]] std::span<const TokenId> end_tokens() const noexcept;

  /// Returns the tokens that encode() puts around a text with add_special.
  [[nodiscard]] std::span<const TokenId> tokens_before() const noexcept;
  [[nodiscard]] std::span<const TokenId> tokens_after() const noexcept;

  /// Returns the tokens around and between two texts; null where they are unknown.
  [[nodiscard]] const PairForm* pair_form() const noexcept;

  /// Jinja; empty when there is none.
  [[nodiscard]] std::string_view chat_template() const noexcept;
  /// Returns the template for conversations with tools (`tool_use`), which some models have in
  /// addition; empty when there is none.
  [[nodiscard]] std::string_view tool_chat_template() const noexcept;
  /// Returns both templates, from which Weft recognizes the model's format.
  [[nodiscard]] std::string chat_templates() const;
  /// Returns the template's file, for operators; "chat_template" where it was in a common file.
  [[nodiscard]] std::string_view chat_template_file() const noexcept;

 private:
  friend class IncrementalDetokenizer;
  struct Data;

  explicit Tokenizer(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  /// Makes a tokenizer of the parts that a loader found.
  [[nodiscard]] static Result<Tokenizer> assemble(TokenizerParts parts);

  [[nodiscard]] const Decoder& decoder() const noexcept;

  std::shared_ptr<const Data> data_;
};

}  // namespace weft
