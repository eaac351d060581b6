#include "weft/text/tokenizer/sentencepiece/sentencepiece_model.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/text/tokenizer/tokenizer.h"
#include "weft/text/tokenizer/tokenizer_parts.h"

namespace weft {
namespace {

// Fields of ModelProto, and of the messages in it.
constexpr std::uint64_t kPieces = 1;
constexpr std::uint64_t kTrainer = 2;
constexpr std::uint64_t kNormalizer = 3;
constexpr std::uint64_t kPieceText = 1;
constexpr std::uint64_t kPieceScore = 2;
constexpr std::uint64_t kPieceType = 3;
constexpr std::uint64_t kModelType = 3;
constexpr std::uint64_t kCharsmap = 2;
constexpr std::uint64_t kDummyPrefix = 3;
constexpr std::uint64_t kExtraWhitespaces = 4;

/// A field of a message: a number, or bytes.
struct ProtoField {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

/// Goes through the fields of one message in protobuf's wire format. Owner only.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : bytes_(bytes) {}

  /// Returns false at the end, and where the bytes are no message: then failed().
  bool next(ProtoField& field) {
    if (failed_ || at_ == bytes_.size()) return false;
    const std::uint64_t tag = varint();
    if (failed_) return false;
    field = {.number = tag >> 3U, .value = 0, .bytes = {}};
    switch (tag & 7U) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.bytes = take(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.bytes = take(4);
        break;
      default:
        failed_ = true;
    }
    return !failed_;
  }

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::size_t offset() const { return at_; }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) break;
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }

  std::string_view take(std::uint64_t count) {
    if (failed_ || count > bytes_.size() - at_) {
      failed_ = true;
      return {};
    }
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

class ModelReader {
 public:
  explicit ModelReader(std::string_view name) : name_(name) {}

  Result<SentencePieceModel> read(std::string_view bytes) {
    ProtoReader fields(bytes);
    for (ProtoField field; fields.next(field);) {
      Result<void> done;
      if (field.number == kPieces) done = read_piece(field.bytes);
      if (field.number == kTrainer) done = read_trainer(field.bytes);
      if (field.number == kNormalizer) done = read_normalizer(field.bytes);
      if (!done) return done.error();
    }
    if (fields.failed())
      return bad("is no SentencePiece model: offset " + std::to_string(fields.offset()));
    if (model_.pieces.empty()) return bad("has no pieces");
    return std::move(model_);
  }

 private:
  [[nodiscard]] Error bad(const std::string& what) const { return bad_tokenizer(name_, what); }

  Result<void> read_piece(std::string_view bytes) {
    const std::string which = "piece " + std::to_string(model_.pieces.size());
    if (model_.pieces.size() == Tokenizer::kMaxTokens) return bad("has more than 2^21 pieces");
    SentencePieceModel::Piece piece;
    ProtoReader fields(bytes);
    for (ProtoField field; fields.next(field);) {
      if (field.number == kPieceText) piece.text = field.bytes;
      if (field.number == kPieceScore && field.bytes.size() == sizeof(float))
        std::memcpy(&piece.score, field.bytes.data(), sizeof(float));
      if (field.number != kPieceType) continue;
      if (field.value < 1 || field.value > 6)
        return bad(which + " has type " + std::to_string(field.value));
      piece.type = static_cast<SentencePieceModel::PieceType>(field.value);
    }
    if (fields.failed() || piece.text.empty() || !is_utf8(piece.text) ||
        piece.text.size() > Tokenizer::kMaxTokenBytes || !std::isfinite(piece.score))
      return bad(which + " is no text with a score");
    model_.pieces.push_back(std::move(piece));
    return {};
  }

  Result<void> read_trainer(std::string_view bytes) {
    ProtoReader fields(bytes);
    for (ProtoField field; fields.next(field);) {
      if (field.number != kModelType) continue;
      if (field.value != 1 && field.value != 2)
        return Error{make_error_code(TextErrc::kUnknownTokenizerPart),
                     std::string(name_) + ": model_type " + std::to_string(field.value)};
      model_.kind = static_cast<SentencePieceModel::Kind>(field.value);
    }
    if (fields.failed()) return bad("its trainer_spec is no message");
    return {};
  }

  Result<void> read_normalizer(std::string_view bytes) {
    ProtoReader fields(bytes);
    for (ProtoField field; fields.next(field);) {
      if (field.number == kCharsmap) model_.precompiled_charsmap = field.bytes;
      if (field.number == kDummyPrefix) model_.add_dummy_prefix = field.value != 0;
      if (field.number == kExtraWhitespaces) model_.remove_extra_whitespaces = field.value != 0;
    }
    if (fields.failed()) return bad("its normalizer_spec is no message");
    return {};
  }

  std::string_view name_;
  SentencePieceModel model_;
};

}  // namespace

Result<SentencePieceModel> read_sentencepiece_model(std::string_view bytes, std::string_view name) {
  return ModelReader(name).read(bytes);
}

}  // namespace weft
