#include "weft/model/checkpoint/gguf/gguf_writer.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/core/io/byte_reader.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/gguf/gguf.h"
#include "weft/model/checkpoint/gguf/gguf_metadata.h"
#include "weft/model/checkpoint/header_bytes.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kWrittenVersion = 3;
constexpr std::uint64_t kTensorAlignment = 32;  // the format's default
constexpr std::uint32_t kQuantizationVersion = 2;
constexpr std::string_view kFileTypeKey = "general.file_type";
constexpr std::string_view kQuantizationKey = "general.quantization_version";

/// Appends little-endian numbers and texts.
class GgufHeaderWriter {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  void put(T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    put_bytes(std::as_bytes(std::span(text)));
  }
  void put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void align() {
    bytes_.resize((bytes_.size() + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment);
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

GgufPair u32_pair(std::string_view key, std::uint32_t number) { return gguf_pair(key, number); }

/// Returns the common type of numbers.
GgufType type_of(const json::value& value, bool in_list) {
  if (value.is_bool()) return GgufType::kBool;
  if (value.is_string()) return GgufType::kString;
  if (value.is_double()) return GgufType::kF32;
  if (!value.is_number()) internal_error("gguf_pair: a value that metadata does not have");
  const auto number = value.to_number<std::int64_t>();
  if (std::in_range<std::int32_t>(number) && (in_list || number < 0)) return GgufType::kI32;
  if (std::in_range<std::uint32_t>(number)) return GgufType::kU32;
  return number < 0 ? GgufType::kI64 : GgufType::kU64;
}

void put_value(GgufHeaderWriter& to, GgufType type, const json::value& value) {
  switch (type) {
    case GgufType::kBool:
      return to.put(static_cast<std::uint8_t>(value.as_bool() ? 1 : 0));
    case GgufType::kString:
      return to.put_text(value.as_string());
    case GgufType::kF32:
      return to.put(value.to_number<float>());
    case GgufType::kI32:
      return to.put(value.to_number<std::int32_t>());
    case GgufType::kU32:
      return to.put(value.to_number<std::uint32_t>());
    default:
      return to.put(value.to_number<std::int64_t>());
  }
}

/// Writes the type and length of a list.
GgufHeaderWriter begin_list(GgufType type, std::size_t count) {
  GgufHeaderWriter list;
  list.put(static_cast<std::uint32_t>(GgufType::kArray));
  list.put(static_cast<std::uint32_t>(type));
  list.put(static_cast<std::uint64_t>(count));
  return list;
}

template <class T>
GgufPair number_list(std::string_view key, GgufType type, std::span<const T> numbers) {
  GgufHeaderWriter list = begin_list(type, numbers.size());
  list.put_bytes(std::as_bytes(numbers));
  return {std::string(key), list.take()};
}

struct PairPlace {
  std::string key;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Finds the pairs of a file that read_gguf() has accepted.
Result<std::vector<PairPlace>> find_pairs(ByteWindow& window, std::string_view file) {
  FieldReader fields(window);
  fields.skip(4 + sizeof(kWrittenVersion), "magic and version");
  fields.skip(sizeof(std::uint64_t), "number of tensors");
  const auto count = fields.take<std::uint64_t>("number of keys");
  if (fields.failed()) return bad_checkpoint(file, fields.error().detail);
  const auto metadata = read_gguf_metadata(fields, count, file);
  if (!metadata) return metadata.error();
  std::vector<PairPlace> places;
  for (const GgufPlace& place : metadata->places) {
    places.push_back({std::string(place.key), place.begin, place.end});
  }
  return places;
}

}  // namespace

GgufPair gguf_pair(std::string_view key, const json::value& value) {
  if (const json::array* items = value.if_array()) {
    if (items->empty()) internal_error("gguf_pair: an empty list has no type");
    const bool is_real =
        std::ranges::any_of(*items, [](const auto& item) { return item.is_double(); });
    const GgufType type = is_real ? GgufType::kF32 : type_of(items->front(), true);
    GgufHeaderWriter list = begin_list(type, items->size());
    for (const json::value& item : *items) put_value(list, type, item);
    return {std::string(key), list.take()};
  }
  GgufHeaderWriter one;
  const GgufType type = type_of(value, false);
  one.put(static_cast<std::uint32_t>(type));
  put_value(one, type, value);
  return {std::string(key), one.take()};
}

GgufPair gguf_list(std::string_view key, std::span<const std::string> texts) {
  GgufHeaderWriter list = begin_list(GgufType::kString, texts.size());
  for (const std::string& text : texts) list.put_text(text);
  return {std::string(key), list.take()};
}

GgufPair gguf_list(std::string_view key, std::span<const float> numbers) {
  return number_list(key, GgufType::kF32, numbers);
}

GgufPair gguf_list(std::string_view key, std::span<const std::int32_t> numbers) {
  return number_list(key, GgufType::kI32, numbers);
}

Result<std::vector<GgufPair>> read_gguf_pairs(const SharedSource& source) {
  HeaderBytes header(*source, 0, source->size());
  const auto places =
      header.parse([&](ByteWindow& window) { return find_pairs(window, source->name()); });
  if (!places) return places.error();
  std::vector<GgufPair> pairs;
  for (const PairPlace& place : *places) {
    auto value = read_held(*source, place.begin, place.end - place.begin);
    if (!value) return value.error();
    pairs.push_back({place.key, std::move(*value)});
  }
  return pairs;
}

std::optional<std::uint32_t> gguf_type_of(DType dtype) noexcept {
  if (const auto* plain = std::ranges::find(kGgufPlainTypes, dtype, &GgufPlainType::dtype);
      plain != kGgufPlainTypes.end()) {
    return plain->number;
  }
  if (!is_encoded(dtype) || encoding_of(dtype).gguf_type == Encoding::kNotInGguf)
    return std::nullopt;
  return encoding_of(dtype).gguf_type;
}

std::vector<GgufPair> metadata_after_quantizing(std::vector<GgufPair> pairs,
                                                std::optional<std::uint32_t> file_type) {
  std::erase_if(pairs, [](const GgufPair& pair) {
    return pair.key == kFileTypeKey || pair.key == kQuantizationKey ||
           pair.key == "general.alignment" || pair.key.starts_with("split.");
  });
  if (file_type) pairs.push_back(u32_pair(kFileTypeKey, *file_type));
  pairs.push_back(u32_pair(kQuantizationKey, kQuantizationVersion));
  return pairs;
}

TensorLayout lay_out_gguf(std::span<const GgufPair> metadata,
                          std::span<const TensorEntry> tensors) {
  GgufHeaderWriter header;
  header.put_bytes(std::as_bytes(std::span(std::string_view("GGUF"))));
  header.put(kWrittenVersion);
  header.put(static_cast<std::uint64_t>(tensors.size()));
  header.put(static_cast<std::uint64_t>(metadata.size()));
  for (const GgufPair& pair : metadata) {
    header.put_text(pair.key);
    header.put_bytes(pair.value);
  }
  TensorLayout layout;
  std::uint64_t end = 0;
  for (const TensorEntry& tensor : tensors) {
    const auto type = gguf_type_of(tensor.dtype);
    const auto size = tensor_bytes(tensor.dtype, tensor.shape);
    if (!type || !size) internal_error("lay_out_gguf: a type that the format does not have");
    header.put_text(tensor.name);
    header.put(static_cast<std::uint32_t>(tensor.shape.size()));
    for (auto extent = tensor.shape.rbegin(); extent != tensor.shape.rend(); ++extent) {
      header.put(static_cast<std::uint64_t>(*extent));
    }
    header.put(*type);
    end = (end + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    header.put(end);
    layout.offsets.push_back(end);
    end += static_cast<std::uint64_t>(*size);
  }
  header.align();
  layout.header = header.take();
  for (std::uint64_t& offset : layout.offsets) offset += layout.header.size();
  // Other readers expect padding after the last tensor too.
  layout.size =
      layout.header.size() + (end + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  return layout;
}

}  // namespace weft
