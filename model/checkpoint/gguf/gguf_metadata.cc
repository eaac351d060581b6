#include "weft/model/checkpoint/gguf/gguf_metadata.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/model/checkpoint/checkpoint_file.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kMaxPairs = 65'536;     // real files have less than a hundred
constexpr std::uint64_t kMaxKeyBytes = 65'535;  // the format's own limit
constexpr std::uint64_t kMaxStringBytes = 16ULL << 20U;
constexpr std::uint64_t kMaxKeptElements = 1024;  // keeps lists of numbers per layer, not per token
constexpr std::uint64_t kMaxAlignment = 65'536;
constexpr int kMaxArrayDepth = 4;

constexpr std::string_view kTokenizer = "tokenizer.";
constexpr std::string_view kAlignment = "general.alignment";

/// Returns the bytes of one value in an array: exact for numbers, a lower bound for strings and
/// arrays.
std::uint64_t least_bytes(GgufType type) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool:
      return 1;
    case GgufType::kU16:
    case GgufType::kI16:
      return 2;
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32:
      return 4;
    case GgufType::kArray:
      return 12;
    case GgufType::kString:
    case GgufType::kU64:
    case GgufType::kI64:
    case GgufType::kF64:
      break;
  }
  return 8;
}

bool is_number(GgufType type) { return type != GgufType::kString && type != GgufType::kArray; }

class MetadataReader {
 public:
  MetadataReader(FieldReader& fields, std::string_view file) : fields_(fields), file_(file) {}

  Result<GgufMetadata> read(std::uint64_t count);

 private:
  [[nodiscard]] Error bad(std::string_view what) const {
    return bad_checkpoint(file_, key_.empty()
                                     ? std::string(what)
                                     : "key " + in_quotes(key_) + ": " + std::string(what));
  }
  [[nodiscard]] Error bad_field() const { return bad(fields_.error().detail); }

  Result<void> read_pair();
  Result<std::string_view> read_string(std::uint64_t limit);
  Result<GgufType> read_type();
  Result<json::value> read_value(GgufType type, int depth);
  Result<json::value> read_number(GgufType type);
  Result<json::value> read_text();
  Result<json::value> read_array(int depth);
  Result<GgufArray> skip_array();
  template <class T>
  Result<json::value> take();
  Result<void> set_alignment(GgufType type, const json::value& value);

  FieldReader& fields_;
  std::string_view file_;
  std::string_view key_;
  GgufMetadata metadata_;
};

Result<GgufMetadata> MetadataReader::read(std::uint64_t count) {
  constexpr std::uint64_t kLeastPair = 8 + 4 + 1;
  fields_.expect(count, kLeastPair, "metadata");
  if (fields_.failed()) return bad_field();
  if (count > kMaxPairs)
    return bad("metadata of " + std::to_string(count) + " keys, more than " +
               std::to_string(kMaxPairs));
  std::vector<std::string_view> keys;
  keys.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (const auto done = read_pair(); !done) return done.error();
    metadata_.places.back().end = fields_.offset();
    keys.push_back(std::exchange(key_, {}));
  }
  std::ranges::sort(keys);
  const auto twice = std::ranges::adjacent_find(keys);
  if (twice != keys.end()) return bad("key " + in_quotes(*twice) + " stands there twice");
  return std::move(metadata_);
}

Result<void> MetadataReader::read_pair() {
  const auto key = read_string(kMaxKeyBytes);
  if (!key) return key.error();
  if (key->empty() || !simdjson::validate_utf8(*key))
    return bad("a key before offset " + std::to_string(fields_.offset()) + " is no text");
  key_ = *key;
  metadata_.places.push_back({key_, fields_.offset(), 0});
  const auto type = read_type();
  if (!type) return type.error();
  if (*type == GgufType::kArray && key_.starts_with(kTokenizer)) {
    const auto array = skip_array();
    if (!array) return array.error();
    metadata_.tokenizer_arrays.emplace(key_, *array);
    return {};
  }
  auto value = read_value(*type, 0);
  if (!value) return value.error();
  if (key_ == kAlignment) {
    if (const auto set = set_alignment(*type, *value); !set) return set.error();
  }
  if (!value->is_null()) metadata_.values.insert_or_assign(key_, std::move(*value));
  return {};
}

Result<std::string_view> MetadataReader::read_string(std::uint64_t limit) {
  const auto size = fields_.take<std::uint64_t>("length of text");
  if (!fields_.failed() && size > limit)
    return bad("a text of " + std::to_string(size) + " bytes at offset " +
               std::to_string(fields_.offset()) + ", more than " + std::to_string(limit));
  const auto text = fields_.text(size, "text");
  if (fields_.failed()) return bad_field();
  return text;
}

Result<GgufType> MetadataReader::read_type() {
  const auto type = fields_.take<std::uint32_t>("type");
  if (fields_.failed()) return bad_field();
  if (type > static_cast<std::uint32_t>(GgufType::kF64))
    return bad("type " + std::to_string(type) + " at offset " +
               std::to_string(fields_.offset() - sizeof type) + " is unknown");
  return static_cast<GgufType>(type);
}

Result<json::value> MetadataReader::read_value(GgufType type, int depth) {
  switch (type) {
    case GgufType::kArray:
      return read_array(depth + 1);
    case GgufType::kString:
      return read_text();
    default:
      return read_number(type);
  }
}

Result<json::value> MetadataReader::read_number(GgufType type) {
  switch (type) {
    case GgufType::kU8:
      return take<std::uint8_t>();
    case GgufType::kI8:
      return take<std::int8_t>();
    case GgufType::kU16:
      return take<std::uint16_t>();
    case GgufType::kI16:
      return take<std::int16_t>();
    case GgufType::kU32:
      return take<std::uint32_t>();
    case GgufType::kI32:
      return take<std::int32_t>();
    case GgufType::kF32:
      return take<float>();
    case GgufType::kF64:
      return take<double>();
    case GgufType::kI64:
      return take<std::int64_t>();
    case GgufType::kBool: {
      const auto flag = fields_.take<std::uint8_t>("bool");
      if (fields_.failed()) return bad_field();
      if (flag > 1) return bad("a bool is " + std::to_string(flag));
      return json::value(flag == 1);
    }
    default:
      return take<std::uint64_t>();
  }
}

template <class T>
Result<json::value> MetadataReader::take() {
  const T number = fields_.take<T>("number");
  if (fields_.failed()) return bad_field();
  if constexpr (std::is_floating_point_v<T>) {
    return json::value(static_cast<double>(number));
  } else {
    if (std::in_range<std::int64_t>(number)) return json::value(static_cast<std::int64_t>(number));
    return json::value(static_cast<std::uint64_t>(number));
  }
}

Result<json::value> MetadataReader::read_text() {
  const auto text = read_string(kMaxStringBytes);
  if (!text) return text.error();
  if (!simdjson::validate_utf8(*text)) return bad("its text is not UTF-8");
  return json::value(json::string(*text));
}

/// Returns null, which metadata cannot contain, if the array is too long to keep.
Result<json::value> MetadataReader::read_array(int depth) {
  if (depth > kMaxArrayDepth) return bad("arrays are nested too deeply");
  const auto type = read_type();
  if (!type) return type.error();
  const auto count = fields_.take<std::uint64_t>("length of an array");
  fields_.expect(count, least_bytes(*type), "array");
  if (fields_.failed()) return bad_field();
  const bool kept = count <= kMaxKeptElements;
  json::array array;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto value = read_value(*type, depth);
    if (!value) return value.error();
    if (kept) array.push_back(std::move(*value));
  }
  return kept ? json::value(std::move(array)) : json::value(nullptr);
}

Result<GgufArray> MetadataReader::skip_array() {
  const auto type = read_type();
  if (!type) return type.error();
  if (*type == GgufType::kArray) return bad("arrays in an array of the tokenizer");
  GgufArray array;
  array.type = *type;
  array.count = fields_.take<std::uint64_t>("length of an array");
  fields_.expect(array.count, least_bytes(*type), "array");
  if (fields_.failed()) return bad_field();
  if (is_number(*type)) {
    array.bytes = fields_.bytes(array.count * least_bytes(*type), "array");
    return array;
  }
  FieldReader ahead = fields_;
  for (std::uint64_t i = 0; i < array.count; ++i) {
    if (const auto text = read_string(kMaxStringBytes); !text) return text.error();
  }
  array.bytes = ahead.bytes(fields_.offset() - ahead.offset(), "array");
  return array;
}

Result<void> MetadataReader::set_alignment(GgufType type, const json::value& value) {
  if (type != GgufType::kU32) return bad("is no u32");
  const auto alignment = static_cast<std::uint64_t>(value.as_int64());
  if (!std::has_single_bit(alignment) || alignment > kMaxAlignment)
    return bad(std::to_string(alignment) + " is no power of two up to " +
               std::to_string(kMaxAlignment));
  metadata_.alignment = alignment;
  return {};
}

}  // namespace

Result<GgufMetadata> read_gguf_metadata(FieldReader& fields, std::uint64_t count,
                                        std::string_view file) {
  return MetadataReader(fields, file).read(count);
}

}  // namespace weft
