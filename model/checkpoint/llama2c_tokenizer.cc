#include <algorithm>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/core/io/byte_reader.h"
#include "weft/core/io/file.h"
#include "weft/model/checkpoint/llama2c.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxLlama2cTokens = 1 << 21;
constexpr std::int32_t kMaxLlama2cTokenBytes = 65'536;
constexpr std::size_t kMaxTokenizerBytes = 64ULL << 20U;  // that of 32,000 tokens has 434 kB

// As in every SentencePiece model that llama2.c was trained with.
constexpr TokenId kUnknown = 0;
constexpr TokenId kBos = 1;
constexpr TokenId kEos = 2;

constexpr std::string_view kWordMark = "\xe2\x96\x81";  // U+2581, SentencePiece's space

/// Returns the original text: tokenizer.py writes spaces instead of SentencePiece's mark, and bos
/// and eos between newlines.
std::string original_text(std::string_view text, TokenId id) {
  if (id == kBos && text == "\n<s>\n") return "<s>";
  if (id == kEos && text == "\n</s>\n") return "</s>";
  std::string original;
  for (const char c : text) {
    if (c == ' ') {
      original += kWordMark;
    } else {
      original += c;
    }
  }
  return original;
}

bool is_byte_token(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  return text.size() == 6 && text.starts_with("<0x") && text.ends_with('>') &&
         kHex.find(text[3]) != std::string_view::npos &&
         kHex.find(text[4]) != std::string_view::npos;
}

Vocabulary::TokenType type_of(std::string_view text, TokenId id) {
  if (id == kUnknown) return Vocabulary::TokenType::kUnknown;
  if (id == kBos || id == kEos) return Vocabulary::TokenType::kControl;
  return is_byte_token(text) ? Vocabulary::TokenType::kByte : Vocabulary::TokenType::kNormal;
}

Vocabulary empty_vocabulary() {
  Vocabulary vocabulary;
  vocabulary.model = Vocabulary::Model::kSentencePieceBpe;
  vocabulary.special.bos = kBos;
  vocabulary.special.eos = kEos;
  vocabulary.special.unknown = kUnknown;
  vocabulary.add_bos = true;
  return vocabulary;
}

Result<void> read_token(FieldReader& fields, std::int32_t longest, std::string_view file,
                        Vocabulary& vocabulary) {
  const auto id = static_cast<TokenId>(vocabulary.tokens.size());
  const auto score = fields.take<float>("score");
  const auto length = fields.take<std::int32_t>("length of a token");
  if (!fields.failed() && (length < 0 || length > longest))
    return bad_checkpoint(file, "token " + std::to_string(id) + " has " + std::to_string(length) +
                                    " bytes, the longest has " + std::to_string(longest));
  const auto text = fields.text(static_cast<std::uint64_t>(length), "token");
  if (fields.failed()) return bad_checkpoint(file, fields.error().detail);
  vocabulary.scores.push_back(score);
  vocabulary.types.push_back(type_of(text, id));
  vocabulary.tokens.push_back(original_text(text, id));
  return {};
}

/// Returns files beside the model that may be its tokenizer, best first.
std::vector<fs::path> candidates(const fs::path& model, std::int64_t tokens) {
  const fs::path folder = model.parent_path().empty() ? fs::path(".") : model.parent_path();
  std::vector<fs::path> others;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("tok") && name.ends_with(".bin")) others.push_back(folder / name);
  }
  std::ranges::sort(others);
  std::vector<fs::path> found = {folder / ("tok" + std::to_string(tokens) + ".bin"),
                                 folder / "tokenizer.bin"};
  found.insert(found.end(), others.begin(), others.end());
  return found;
}

}  // namespace

Result<Vocabulary> read_llama2c_tokenizer(std::span<const std::byte> bytes, std::string_view name,
                                          std::int64_t tokens) {
  if (tokens < 1 || tokens > kMaxLlama2cTokens)
    return bad_checkpoint(name, std::to_string(tokens) + " tokens");
  FieldReader fields(bytes);
  const auto longest = fields.take<std::int32_t>("length of the longest token");
  if (longest < 0 || longest > kMaxLlama2cTokenBytes)
    return bad_checkpoint(name, "the longest token has " + std::to_string(longest) + " bytes");
  constexpr std::uint64_t kLeastToken = 8;
  fields.expect(static_cast<std::uint64_t>(tokens), kLeastToken, "tokens");
  if (fields.failed()) return bad_checkpoint(name, fields.error().detail);
  Vocabulary vocabulary = empty_vocabulary();
  for (std::int64_t i = 0; i < tokens; ++i) {
    const auto read = read_token(fields, longest, name, vocabulary);
    if (!read) return read.error();
  }
  if (fields.remaining() != 0)
    return bad_checkpoint(name, std::to_string(fields.remaining()) + " bytes are left behind " +
                                    std::to_string(tokens) + " tokens");
  return vocabulary;
}

std::shared_ptr<const Vocabulary> find_llama2c_tokenizer(const fs::path& model,
                                                         std::int64_t tokens) {
  for (const fs::path& path : candidates(model, tokens)) {
    const auto text = read_text_file(path, kMaxTokenizerBytes);
    if (!text) continue;
    auto vocabulary =
        read_llama2c_tokenizer(std::as_bytes(std::span(*text)), path.string(), tokens);
    if (vocabulary) return std::make_shared<const Vocabulary>(std::move(*vocabulary));
  }
  return nullptr;
}

}  // namespace weft
