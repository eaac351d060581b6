#include "weft/text/tokenizer/sentencepiece/m2m100_folder.h"

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/text/json/json_text.h"
#include "weft/text/tokenizer/sentencepiece/sentencepiece_model.h"
#include "weft/text/tokenizer/tokenizer.h"
#include "weft/text/tokenizer/tokenizer_parts.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using TokenType = Vocabulary::TokenType;

constexpr const char* kPieceFile = "sentencepiece.bpe.model";
constexpr const char* kIdFile = "vocab.json";
constexpr std::size_t kMaxM2m100File = std::size_t{64} << 20U;  // real files have 4 MB
constexpr std::size_t kMaxIdDepth = 8;
// The reference implementation's score for a text without a piece in SentencePiece.
constexpr float kMissingPiecePenalty = 10;

/// M2M100's languages in the order of their tokens (fairseq).
constexpr std::array<std::string_view, 100> kLanguages = {
    "af", "am", "ar", "ast", "az", "ba", "be", "bg", "bn", "br",  "bs", "ca", "ceb", "cs", "cy",
    "da", "de", "el", "en",  "es", "et", "fa", "ff", "fi", "fr",  "fy", "ga", "gd",  "gl", "gu",
    "ha", "he", "hi", "hr",  "ht", "hu", "hy", "id", "ig", "ilo", "is", "it", "ja",  "jv", "ka",
    "kk", "km", "kn", "ko",  "lb", "lg", "ln", "lo", "lt", "lv",  "mg", "mk", "ml",  "mn", "mr",
    "ms", "my", "ne", "nl",  "no", "ns", "oc", "or", "pa", "pl",  "ps", "pt", "ro",  "ru", "sd",
    "si", "sk", "sl", "so",  "sq", "sr", "ss", "su", "sv", "sw",  "ta", "th", "tl",  "tn", "tr",
    "uk", "ur", "uz", "vi",  "wo", "xh", "yi", "yo", "zh", "zu"};

Result<json::object> read_object(const fs::path& path) {
  const auto text = read_text_file(path, kMaxM2m100File);
  if (!text) return text.error();
  std::string problem;
  json::value value = parse_json(*text, kMaxIdDepth, problem);
  if (problem.empty() && !value.is_object()) problem = "is no object";
  if (!problem.empty()) return bad_tokenizer(path.string(), problem);
  return std::move(value.as_object());
}

class M2m100Reader {
 public:
  explicit M2m100Reader(fs::path folder) : folder_(std::move(folder)) {}

  Result<Vocabulary> read() {
    Result<void> done = take_ids();
    if (done) done = take_languages();
    if (done) done = take_pieces();
    if (done) done = take_roles();
    if (!done) return done.error();
    return std::move(made_);
  }

 private:
  [[nodiscard]] Error bad(const char* file, const std::string& what) const {
    return bad_tokenizer((folder_ / file).string(), what);
  }

  Result<void> take_ids() {
    const auto ids = read_object(folder_ / kIdFile);
    if (!ids) return ids.error();
    if (ids->empty() || ids->size() > Tokenizer::kMaxTokens)
      return bad(kIdFile, "has " + std::to_string(ids->size()) + " tokens");
    made_.tokens.resize(ids->size());
    for (const auto& [text, value] : *ids) {
      const std::int64_t* const id = value.if_int64();
      if (id == nullptr || *id < 0 || std::cmp_greater_equal(*id, made_.tokens.size()) ||
          !made_.tokens[static_cast<std::size_t>(*id)].empty() || text.empty())
        return bad(kIdFile, "has \"" + std::string(text) + "\" under an id that is not free");
      made_.tokens[static_cast<std::size_t>(*id)] = text;
    }
    made_.types.assign(made_.tokens.size(), TokenType::kUnused);
    return {};
  }

  void add_language(std::string_view token) {
    made_.tokens.emplace_back(token);
    made_.types.push_back(TokenType::kControl);
  }

  Result<void> take_languages() {
    std::error_code ignored;
    const fs::path added = folder_ / "added_tokens.json";
    const fs::path special = folder_ / "special_tokens_map.json";
    if (fs::exists(added, ignored)) return take_added(added);
    if (fs::exists(special, ignored)) {
      const auto map = read_object(special);
      if (!map) return map.error();
      const json::value* names = map->if_contains("additional_special_tokens");
      if (names != nullptr && names->is_array()) {
        for (const json::value& name : names->get_array()) {
          if (name.is_string()) add_language(name.get_string());
        }
        return {};
      }
    }
    for (const std::string_view language : kLanguages) {
      add_language("__" + std::string(language) + "__");
    }
    return {};
  }

  Result<void> take_added(const fs::path& path) {
    const auto added = read_object(path);
    if (!added) return added.error();
    std::map<std::int64_t, std::string> by_id;
    for (const auto& [text, value] : *added) {
      const std::int64_t* const id = value.if_int64();
      if (id != nullptr) by_id.emplace(*id, text);
    }
    for (const auto& [id, text] : by_id) {
      if (std::cmp_not_equal(id, made_.tokens.size()))
        return bad("added_tokens.json", "has \"" + text + "\" under the id " + std::to_string(id) +
                                            " instead of " + std::to_string(made_.tokens.size()));
      add_language(text);
    }
    return {};
  }

  Result<void> take_pieces() {
    const fs::path path = folder_ / kPieceFile;
    const auto bytes = read_text_file(path, kMaxM2m100File);
    if (!bytes) return bytes.error();
    const auto model = read_sentencepiece_model(*bytes, path.string());
    if (!model) return model.error();
    made_.model = model->kind == SentencePieceModel::Kind::kBpe
                      ? Vocabulary::Model::kSentencePieceBpe
                      : Vocabulary::Model::kUnigram;
    made_.precompiled_charsmap = model->precompiled_charsmap;
    made_.add_space_prefix = model->add_dummy_prefix;
    made_.remove_extra_whitespaces = model->remove_extra_whitespaces;
    std::map<std::string_view, std::size_t> ids;
    for (std::size_t id = 0; id < made_.tokens.size(); ++id) ids.emplace(made_.tokens[id], id);
    float lowest = 0;
    made_.scores.assign(made_.tokens.size(), 0);
    for (const SentencePieceModel::Piece& piece : model->pieces) {
      const auto found = ids.find(piece.text);
      const bool is_plain = piece.type == SentencePieceModel::PieceType::kNormal ||
                            piece.type == SentencePieceModel::PieceType::kUserDefined;
      if (found == ids.end() || !is_plain) continue;
      made_.scores[found->second] = piece.score;
      made_.types[found->second] = TokenType::kNormal;
      lowest = std::min(lowest, piece.score);
    }
    for (std::size_t id = 0; id < made_.types.size(); ++id) {
      if (made_.types[id] == TokenType::kUnused) made_.scores[id] = lowest - kMissingPiecePenalty;
    }
    return {};
  }

  Result<void> take_roles() {
    struct Role {
      const char* text;
      TokenId& id;
      TokenType type;
    };
    SpecialTokens& special = made_.special;
    for (const Role& role : {Role{"<s>", special.bos, TokenType::kControl},
                             Role{"</s>", special.eos, TokenType::kControl},
                             Role{"<pad>", special.padding, TokenType::kControl},
                             Role{"<unk>", special.unknown, TokenType::kUnknown}}) {
      for (std::size_t id = 0; id < made_.tokens.size(); ++id) {
        if (made_.tokens[id] != role.text) continue;
        role.id = static_cast<TokenId>(id);
        made_.types[id] = role.type;
      }
      if (role.id == kNoToken) return bad(kIdFile, std::string("has no ") + role.text);
    }
    return {};
  }

  fs::path folder_;
  Vocabulary made_;
};

}  // namespace

bool is_m2m100_folder(const fs::path& folder) {
  std::error_code ignored;
  return !fs::exists(folder / "tokenizer.json", ignored) && fs::exists(folder / kIdFile, ignored) &&
         fs::exists(folder / kPieceFile, ignored);
}

Result<Vocabulary> read_m2m100_folder(const fs::path& folder) {
  return M2m100Reader(folder).read();
}

}  // namespace weft
