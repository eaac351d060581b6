#include "weft/model/checkpoint/gguf/gguf.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/io/byte_reader.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/model/checkpoint/gguf/gguf_metadata.h"
#include "weft/model/checkpoint/gguf/gguf_vocabulary.h"
#include "weft/model/checkpoint/header_bytes.h"

namespace weft {
namespace {

constexpr std::string_view kGgufMagic = "GGUF";
constexpr std::uint32_t kFirstVersion = 2;  // version 1 had 32-bit counts and lived for weeks
constexpr std::uint32_t kLastVersion = 3;
constexpr std::uint64_t kMaxTensors = 1U << 20U;
constexpr std::uint64_t kMaxTensorNameBytes = 1024;  // ggml's own limit is 64
constexpr std::uint32_t kMaxDimensions = 4;

/// A type of tensors that Weft does not read.
struct UnreadType {
  std::uint32_t number;
  std::string_view name;
};

constexpr std::array kUnreadTypes = {
    UnreadType{9, "Q8_1"},  // only for activations
    UnreadType{15, "Q8_K"},
    UnreadType{40, "NVFP4"},
    UnreadType{41, "Q1_0"},
};

/// A tensor from the header, with its number of bytes.
struct TensorInfo {
  std::string_view name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

class GgufReader {
 public:
  GgufReader(const SharedSource& source, ByteWindow& window)
      : source_(source), file_(source->name()), fields_(window) {}

  Result<CheckpointFile> read();

 private:
  [[nodiscard]] Error bad(std::string_view what) const { return bad_checkpoint(file_, what); }
  [[nodiscard]] Error bad_tensor(std::string_view name, std::string_view what) const {
    return bad("tensor " + in_quotes(name) + ": " + std::string(what));
  }

  Result<void> check_version();
  Result<std::vector<TensorInfo>> read_infos(std::uint64_t count);
  Result<TensorInfo> read_info();
  Result<std::vector<std::int64_t>> read_shape(std::string_view name);
  Result<DType> read_dtype(std::string_view name);
  Result<std::uint64_t> data_section(std::uint64_t alignment) const;
  Result<void> check_places(const std::vector<TensorInfo>& infos, std::uint64_t alignment,
                            std::uint64_t data_bytes) const;

  const SharedSource& source_;
  std::string_view file_;
  FieldReader fields_;
};

Result<void> GgufReader::check_version() {
  if (fields_.text(kGgufMagic.size(), "magic") != kGgufMagic)
    return bad("does not begin with GGUF");
  const auto version = fields_.take<std::uint32_t>("version");
  if (fields_.failed()) return bad(fields_.error().detail);
  if (version >= kFirstVersion && version <= kLastVersion) return {};
  // In a file for big-endian machines the version's low bytes are at the other end.
  if (version != 0 && (version & 0xffffU) == 0)
    return unsupported_checkpoint(file_, "a GGUF file for big-endian machines");
  return unsupported_checkpoint(file_, "GGUF version " + std::to_string(version));
}

Result<std::vector<std::int64_t>> GgufReader::read_shape(std::string_view name) {
  const auto dimensions = fields_.take<std::uint32_t>("number of dimensions");
  if (dimensions > kMaxDimensions)
    return bad_tensor(name, "has " + std::to_string(dimensions) + " dimensions");
  std::vector<std::int64_t> shape;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto dimension = fields_.take<std::uint64_t>("dimension");
    if (fields_.failed()) return bad_tensor(name, fields_.error().detail);
    if (dimension == 0 || !std::in_range<std::int64_t>(dimension))
      return bad_tensor(name, "has a dimension of " + std::to_string(dimension));
    shape.push_back(static_cast<std::int64_t>(dimension));
  }
  std::ranges::reverse(shape);
  return shape;
}

Result<DType> GgufReader::read_dtype(std::string_view name) {
  const auto number = fields_.take<std::uint32_t>("type");
  if (fields_.failed()) return bad_tensor(name, fields_.error().detail);
  const auto encoding = std::ranges::find(encodings(), number, &Encoding::gguf_type);
  if (encoding != encodings().end() && number != Encoding::kNotInGguf) return encoding->dtype;
  const auto* plain = std::ranges::find(kGgufPlainTypes, number, &GgufPlainType::number);
  if (plain != kGgufPlainTypes.end()) return plain->dtype;
  const auto* unread = std::ranges::find(kUnreadTypes, number, &UnreadType::number);
  if (unread == kUnreadTypes.end())
    return bad_tensor(name, "has the unknown type " + std::to_string(number));
  return unsupported_checkpoint(
      file_, "tensor " + in_quotes(name) + " has type " + std::string(unread->name));
}

Result<TensorInfo> GgufReader::read_info() {
  const auto length = fields_.take<std::uint64_t>("length of a tensor's name");
  if (!fields_.failed() && length > kMaxTensorNameBytes)
    return bad("a tensor's name of " + std::to_string(length) + " bytes at offset " +
               std::to_string(fields_.offset()));
  TensorInfo info;
  info.name = fields_.text(length, "a tensor's name");
  if (fields_.failed()) return bad(fields_.error().detail);
  auto shape = read_shape(info.name);
  if (!shape) return shape.error();
  info.shape = std::move(*shape);
  const auto dtype = read_dtype(info.name);
  if (!dtype) return dtype.error();
  info.dtype = *dtype;
  info.offset = fields_.take<std::uint64_t>("offset");
  if (fields_.failed()) return bad_tensor(info.name, fields_.error().detail);
  const std::int64_t row = info.shape.empty() ? 1 : info.shape.back();
  if (const auto block = block_of(info.dtype).elements; row % block != 0)
    return bad_tensor(info.name, "its rows of " + std::to_string(row) +
                                     " are not whole blocks of " + std::to_string(block) + " (" +
                                     std::string(to_string(info.dtype)) + ")");
  const auto size = tensor_bytes(info.dtype, info.shape);
  if (!size) return bad_tensor(info.name, "its shape overflows");
  info.size = static_cast<std::uint64_t>(*size);
  return info;
}

Result<std::vector<TensorInfo>> GgufReader::read_infos(std::uint64_t count) {
  constexpr std::uint64_t kLeastInfo = 8 + 4 + 4 + 8;
  fields_.expect(count, kLeastInfo, "tensors");
  if (fields_.failed()) return bad(fields_.error().detail);
  std::vector<TensorInfo> infos;
  infos.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto info = read_info();
    if (!info) return info.error();
    infos.push_back(std::move(*info));
  }
  return infos;
}

/// Returns where the tensors' bytes begin.
Result<std::uint64_t> GgufReader::data_section(std::uint64_t alignment) const {
  const std::uint64_t begin = (fields_.offset() + alignment - 1) / alignment * alignment;
  if (begin > source_->size())
    return bad("the tensors' section begins at offset " + std::to_string(begin) + " of " +
               std::to_string(source_->size()));
  return begin;
}

Result<void> GgufReader::check_places(const std::vector<TensorInfo>& infos, std::uint64_t alignment,
                                      std::uint64_t data_bytes) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;  // offset, position in infos
  places.reserve(infos.size());
  for (const TensorInfo& info : infos) {
    if (info.offset % alignment != 0)
      return bad_tensor(info.name, "offset " + std::to_string(info.offset) + " is no multiple of " +
                                       std::to_string(alignment));
    if (info.offset > data_bytes || info.size > data_bytes - info.offset)
      return bad_tensor(info.name, std::to_string(info.size) + " bytes at data offset " +
                                       std::to_string(info.offset) + " of " +
                                       std::to_string(data_bytes));
    places.emplace_back(info.offset, places.size());
  }
  std::ranges::sort(places);
  for (std::size_t i = 1; i < places.size(); ++i) {
    const TensorInfo& before = infos[places[i - 1].second];
    if (before.offset + before.size > places[i].first)
      return bad_tensor(infos[places[i].second].name, "overlaps " + in_quotes(before.name));
  }
  return {};
}

Result<CheckpointFile> GgufReader::read() {
  if (const auto checked = check_version(); !checked) return checked.error();
  const auto tensor_count = fields_.take<std::uint64_t>("number of tensors");
  const auto pair_count = fields_.take<std::uint64_t>("number of keys");
  if (fields_.failed()) return bad(fields_.error().detail);
  if (tensor_count > kMaxTensors) return bad(std::to_string(tensor_count) + " tensors");
  auto metadata = read_gguf_metadata(fields_, pair_count, file_);
  if (!metadata) return metadata.error();
  auto vocabulary = read_gguf_vocabulary(*metadata, file_);
  if (!vocabulary) return vocabulary.error();
  auto infos = read_infos(tensor_count);
  if (!infos) return infos.error();
  CheckpointFile file;
  file.config = std::move(metadata->values);
  file.vocabulary = std::move(*vocabulary);
  if (infos->empty()) return file;
  const auto data = data_section(metadata->alignment);
  if (!data) return data.error();
  const auto placed = check_places(*infos, metadata->alignment, source_->size() - *data);
  if (!placed) return placed.error();
  for (TensorInfo& info : *infos) {
    file.tensors.push_back({.name = std::string(info.name),
                            .dtype = info.dtype,
                            .shape = std::move(info.shape),
                            .source = source_,
                            .offset = *data + info.offset,
                            .size = info.size});
  }
  return file;
}

// --- Files of one model: NAME-00001-of-00003.gguf.

struct ShardName {
  std::string stem;
  std::int64_t number = 0;  ///< From 1.
  std::int64_t count = 0;
};

constexpr std::size_t kDigits = 5;
constexpr std::string_view kOf = "-of-";

std::optional<std::int64_t> number_of(std::string_view digits) {
  std::int64_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() || number < 0)
    return std::nullopt;
  return number;
}

std::optional<ShardName> parse_shard_name(const std::filesystem::path& path) {
  constexpr std::size_t kSuffix = 1 + kDigits + kOf.size() + kDigits;
  const std::string stem = path.stem().string();
  if (path.extension() != ".gguf" || stem.size() <= kSuffix) return std::nullopt;
  const std::string_view suffix = std::string_view(stem).substr(stem.size() - kSuffix);
  const auto number = number_of(suffix.substr(1, kDigits));
  const auto count = number_of(suffix.substr(kSuffix - kDigits));
  if (suffix[0] != '-' || suffix.substr(1 + kDigits, kOf.size()) != kOf || !number || !count)
    return std::nullopt;
  return ShardName{stem.substr(0, stem.size() - kSuffix), *number, *count};
}

std::string padded(std::int64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits;
}

std::int64_t integer_at(const boost::json::object& config, std::string_view key) {
  const auto* value = config.if_contains(key);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

}  // namespace

Result<CheckpointFile> read_gguf(const SharedSource& source) {
  HeaderBytes header(*source, 0, source->size());
  return header.parse([&](ByteWindow& window) { return GgufReader(source, window).read(); });
}

Result<std::vector<std::filesystem::path>> gguf_shards(const std::filesystem::path& path,
                                                       const boost::json::object& config) {
  const std::int64_t count = integer_at(config, "split.count");
  if (count <= 1) return std::vector{path};
  const std::int64_t before = integer_at(config, "split.no");
  const auto name = parse_shard_name(path);
  if (!name || name->count != count || before < 0 || before >= count || name->number - 1 != before)
    return bad_checkpoint(path.string(), "its name does not end as that of a shard with split.no " +
                                             std::to_string(before) + " and split.count " +
                                             std::to_string(count));
  std::vector<std::filesystem::path> shards;
  for (std::int64_t i = 1; i <= count; ++i) {
    shards.push_back(path.parent_path() /
                     (name->stem + "-" + padded(i) + std::string(kOf) + padded(count) + ".gguf"));
  }
  return shards;
}

bool is_later_gguf_shard(const std::filesystem::path& path) {
  const auto name = parse_shard_name(path);
  return name && name->number > 1;
}

}  // namespace weft
