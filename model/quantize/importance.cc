#include "weft/model/quantize/importance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/io/byte_reader.h"
#include "weft/core/io/file.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/gguf/gguf.h"
#include "weft/model/checkpoint/header_bytes.h"
#include "weft/model/checkpoint/tensor_values.h"

namespace weft {
namespace {

constexpr std::string_view kSums = ".in_sum2";
constexpr std::string_view kCounts = ".counts";

bool are_sums(std::span<const float> values) {
  return std::ranges::all_of(values, [](float x) { return std::isfinite(x) && x >= 0; });
}

Result<std::vector<float>> values_of(const CheckpointTensor& tensor) {
  if (tensor.dtype != DType::kF32)
    return bad_checkpoint(tensor.file(), "tensor " + in_quotes(tensor.name) + " is not f32");
  std::vector<float> values(tensor.size / sizeof(float));
  if (auto read = read_values(tensor, 0, 1, values); !read) return read.error();
  if (are_sums(values)) return values;
  return bad_checkpoint(tensor.file(),
                        "tensor " + in_quotes(tensor.name) + " holds what is no sum");
}

/// Returns the sums of a tensor's inputs over their counts, one for each expert if it has several.
Result<std::vector<float>> mean_squares(const CheckpointTensor& sums,
                                        const CheckpointTensor& counts) {
  auto values = values_of(sums);
  if (!values) return values;
  const auto count = values_of(counts);
  if (!count) return count.error();
  if (count->empty() || values->size() % count->size() != 0)
    return bad_checkpoint(sums.file(), "tensor " + in_quotes(sums.name) + " has " +
                                           std::to_string(values->size()) + " sums and " +
                                           std::to_string(count->size()) + " counts");
  const std::size_t inputs = values->size() / count->size();
  for (std::size_t i = 0; i < values->size(); ++i) {
    // The file's count is 0 if the expert saw no token.
    (*values)[i] /= std::max((*count)[i / inputs], 1.0F);
  }
  return values;
}

Result<ImportanceMap> read_gguf_importance(const SharedSource& source) {
  const auto file = read_gguf(source);
  if (!file) return file.error();
  ImportanceMap importance;
  for (const CheckpointTensor& sums : file->tensors) {
    if (!sums.name.ends_with(kSums)) continue;
    const std::string name = sums.name.substr(0, sums.name.size() - kSums.size());
    const auto counts =
        std::ranges::find(file->tensors, name + std::string(kCounts), &CheckpointTensor::name);
    if (counts == file->tensors.end())
      return bad_checkpoint(source->name(), "tensor " + in_quotes(sums.name) + " has no counts");
    auto values = mean_squares(sums, *counts);
    if (!values) return values.error();
    importance.emplace(name, std::move(*values));
  }
  return importance;
}

/// Reads files of llama-imatrix from before it wrote GGUF: i32 and f32, little-endian.
Result<ImportanceMap> read_old_importance(ByteWindow& window, const std::string& file) {
  constexpr std::int32_t kMostEntries = 1 << 20;
  constexpr std::int32_t kMostNameBytes = 1024;
  FieldReader fields(window);
  const auto entries = fields.take<std::int32_t>("number of entries");
  ImportanceMap importance;
  for (std::int32_t i = 0; i < entries && !fields.failed(); ++i) {
    const auto length = fields.take<std::int32_t>("length of a name");
    if (entries > kMostEntries || length < 1 || length > kMostNameBytes)
      return unsupported_checkpoint(file, "is no importance matrix of llama-imatrix");
    const std::string name(fields.text(static_cast<std::uint64_t>(length), "name"));
    const auto chunks = fields.take<std::int32_t>("number of chunks");
    const auto count = fields.take<std::int32_t>("number of values");
    if (!fields.failed() && (count < 1 || chunks < 0))
      return bad_checkpoint(file, "tensor " + in_quotes(name) + " has " + std::to_string(count) +
                                      " values of " + std::to_string(chunks) + " chunks");
    const auto numbers = static_cast<std::uint64_t>(std::max(count, 0));
    const auto bytes = fields.bytes(numbers * sizeof(float), "values");
    if (fields.failed()) break;
    std::vector<float>& values = importance[name];
    values.resize(numbers);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    for (float& value : values) value /= static_cast<float>(std::max(chunks, 1));
    if (!are_sums(values))
      return bad_checkpoint(file, "tensor " + in_quotes(name) + " holds what is no sum");
  }
  if (fields.failed()) return bad_checkpoint(file, fields.error().detail);
  return importance;
}

Result<ImportanceMap> read_either(const SharedSource& source) {
  constexpr std::string_view kGguf = "GGUF";
  std::array<char, 4> magic{};
  if (source->size() >= magic.size()) {
    const auto read = source->read(0, std::as_writable_bytes(std::span(magic)));
    if (!read) return read.error();
  }
  if (std::string_view(magic.data(), magic.size()) == kGguf) return read_gguf_importance(source);
  HeaderBytes header(*source, 0, source->size());
  return header.parse(
      [&](ByteWindow& window) { return read_old_importance(window, source->name()); });
}

}  // namespace

Result<ImportanceMap> read_importance(const SharedSource& source) {
  auto importance = read_either(source);
  if (!importance || !importance->empty()) return importance;
  return bad_checkpoint(source->name(), "holds no importance of any tensor");
}

Result<ImportanceMap> read_importance(const std::filesystem::path& path) {
  const auto source = open_file_source(path);
  if (!source) return source.error();
  return read_importance(*source);
}

}  // namespace weft
