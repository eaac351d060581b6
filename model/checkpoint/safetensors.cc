#include "weft/model/checkpoint/safetensors.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/checked.h"
#include "weft/core/io/byte_reader.h"
#include "weft/model/checkpoint/header_bytes.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the reference reader's limit
constexpr std::uint64_t kLengthBytes = 8;
constexpr std::size_t kMaxHeaderDepth = 8;  // a tensor's shape is at depth 3

constexpr std::array kDTypes = {
    SafetensorsType{"F64", DType::kF64},         SafetensorsType{"F32", DType::kF32},
    SafetensorsType{"F16", DType::kF16},         SafetensorsType{"BF16", DType::kBF16},
    SafetensorsType{"I64", DType::kI64},         SafetensorsType{"I32", DType::kI32},
    SafetensorsType{"I16", DType::kI16},         SafetensorsType{"I8", DType::kI8},
    SafetensorsType{"U8", DType::kU8},           SafetensorsType{"BOOL", DType::kBool},
    SafetensorsType{"F8_E4M3", DType::kF8_E4M3},
};

/// A tensor from the header.
struct Entry {
  std::string_view name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// An entry of __metadata__ about a tensor.
struct NamedEncoding {
  std::string_view tensor;
  std::string_view encoding;
};

/// Reads the header of one file. Names are views of the parser's text.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view file) noexcept : file_(file) {}

  [[nodiscard]] Result<std::vector<Entry>> read(const simdjson::padded_string& text);

 private:
  [[nodiscard]] Error bad(std::string_view name, std::string_view what) const {
    return bad_checkpoint(file_, "tensor " + in_quotes(name) + ": " + std::string(what));
  }

  [[nodiscard]] Result<void> read_metadata(dom::element value);
  [[nodiscard]] Result<void> apply_encodings(std::vector<Entry>& entries);
  [[nodiscard]] Result<void> apply_encoding(Entry& entry, std::string_view encoding) const;
  [[nodiscard]] Result<Entry> read_entry(std::string_view name, dom::element value) const;
  /// Returns the tensor's field `key`, which must occur exactly once: with duplicates, two readers
  /// could see two models.
  [[nodiscard]] Result<dom::element> field_of(std::string_view name, dom::object tensor,
                                              std::string_view key) const;
  [[nodiscard]] Result<DType> read_dtype(std::string_view name, dom::object tensor) const;
  [[nodiscard]] Result<std::vector<std::int64_t>> read_shape(std::string_view name,
                                                             dom::object tensor) const;
  [[nodiscard]] Result<void> read_offsets(dom::object tensor, Entry& entry) const;

  std::string_view file_;
  dom::parser parser_;
  std::vector<NamedEncoding> encodings_;
};

Result<std::vector<Entry>> HeaderReader::read(const simdjson::padded_string& text) {
  if (!std::string_view(text).starts_with('{'))
    return bad_checkpoint(file_, "the header does not start with '{'");
  if (parser_.allocate(text.size(), kMaxHeaderDepth) != simdjson::SUCCESS)
    return bad_checkpoint(file_, "the header is too large to parse");
  dom::object header;
  const simdjson::error_code error = parser_.parse(text).get(header);
  if (error != simdjson::SUCCESS)
    return bad_checkpoint(file_, std::string("the header: ") + simdjson::error_message(error));
  std::vector<Entry> entries;
  bool has_metadata = false;
  for (const auto field : header) {
    if (field.key == kSafetensorsMetadata) {
      if (std::exchange(has_metadata, true)) return bad(field.key, "stands twice in the header");
      if (const auto read = read_metadata(field.value); !read) return read.error();
      continue;
    }
    auto entry = read_entry(field.key, field.value);
    if (!entry) return entry.error();
    entries.push_back(std::move(*entry));
  }
  if (const auto applied = apply_encodings(entries); !applied) return applied.error();
  return entries;
}

Result<void> HeaderReader::read_metadata(dom::element value) {
  dom::object metadata;
  if (value.get(metadata) != simdjson::SUCCESS)
    return bad_checkpoint(file_, "__metadata__ is no object");
  for (const auto field : metadata) {
    std::string_view text;
    if (field.value.get(text) != simdjson::SUCCESS)
      return bad_checkpoint(file_, "__metadata__: " + in_quotes(field.key) + " is no text");
    if (field.key.starts_with(kSafetensorsEncoding))
      encodings_.push_back({field.key.substr(kSafetensorsEncoding.size()), text});
  }
  return {};
}

Result<void> HeaderReader::apply_encodings(std::vector<Entry>& entries) {
  std::ranges::sort(encodings_, {}, &NamedEncoding::tensor);
  const auto twice = std::ranges::adjacent_find(encodings_, {}, &NamedEncoding::tensor);
  if (twice != encodings_.end()) return bad(twice->tensor, "has two encodings in __metadata__");
  std::vector<bool> used(encodings_.size());
  for (Entry& entry : entries) {
    const auto named = std::ranges::lower_bound(encodings_, entry.name, {}, &NamedEncoding::tensor);
    if (named == encodings_.end() || named->tensor != entry.name) continue;
    used[static_cast<std::size_t>(named - encodings_.begin())] = true;
    if (const auto applied = apply_encoding(entry, named->encoding); !applied) return applied;
  }
  const auto unused = std::ranges::find(used, false);
  if (unused == used.end()) return {};
  return bad(encodings_[static_cast<std::size_t>(unused - used.begin())].tensor,
             "has an encoding in __metadata__ and is not in the file");
}

/// Converts the tensor's rows of bytes to rows of numbers.
Result<void> HeaderReader::apply_encoding(Entry& entry, std::string_view encoding) const {
  const auto dtype = dtype_named(encoding);
  if (!dtype || !is_encoded(*dtype))
    return unsupported_checkpoint(
        file_, "tensor " + in_quotes(entry.name) + " has encoding " + in_quotes(encoding));
  if (entry.dtype != DType::kU8) return bad(entry.name, "has an encoding and is not of dtype U8");
  if (entry.shape.size() < 2)
    return bad(entry.name, "has an encoding and " + std::to_string(entry.shape.size()) +
                               " dimensions, fewer than 2");
  const DTypeBlock block = block_of(*dtype);
  std::int64_t& row = entry.shape.back();
  if (row % block.bytes != 0)
    return bad(entry.name, "its rows of " + std::to_string(row) +
                               " bytes are not whole blocks of " + std::to_string(block.bytes) +
                               " (" + std::string(encoding) + ")");
  const auto numbers = checked_multiply(row / block.bytes, block.elements);
  if (!numbers) return bad(entry.name, "its shape has more elements than can be counted");
  row = *numbers;
  entry.dtype = *dtype;
  if (!tensor_bytes(entry.dtype, entry.shape))
    return bad(entry.name, "its shape has more elements than can be counted");
  return {};
}

Result<Entry> HeaderReader::read_entry(std::string_view name, dom::element value) const {
  dom::object tensor;
  if (value.get(tensor) != simdjson::SUCCESS) return bad(name, "is no object");
  const auto dtype = read_dtype(name, tensor);
  if (!dtype) return dtype.error();
  auto shape = read_shape(name, tensor);
  if (!shape) return shape.error();
  Entry entry{.name = name, .dtype = *dtype, .shape = std::move(*shape)};
  if (const auto read = read_offsets(tensor, entry); !read) return read.error();
  const auto size = tensor_bytes(entry.dtype, entry.shape);
  if (!size) return bad(name, "its shape has more elements than can be counted");
  if (static_cast<std::uint64_t>(*size) != entry.end - entry.begin)
    return bad(name, "its shape takes " + std::to_string(*size) + " bytes, data_offsets has " +
                         std::to_string(entry.end - entry.begin));
  return entry;
}

Result<dom::element> HeaderReader::field_of(std::string_view name, dom::object tensor,
                                            std::string_view key) const {
  std::optional<dom::element> found;
  for (const auto field : tensor) {
    if (field.key != key) continue;
    if (found) return bad(name, std::string(key) + " stands there twice");
    found = field.value;
  }
  if (!found) return bad(name, "has no " + std::string(key));
  return *found;
}

Result<DType> HeaderReader::read_dtype(std::string_view name, dom::object tensor) const {
  const auto field = field_of(name, tensor, "dtype");
  if (!field) return field.error();
  std::string_view word;
  if (field->get(word) != simdjson::SUCCESS) return bad(name, "dtype is no text");
  const auto* row = std::ranges::find(kDTypes, word, &SafetensorsType::name);
  if (row == kDTypes.end())
    return unsupported_checkpoint(file_,
                                  "tensor " + in_quotes(name) + " has dtype " + in_quotes(word));
  return row->dtype;
}

Result<std::vector<std::int64_t>> HeaderReader::read_shape(std::string_view name,
                                                           dom::object tensor) const {
  const auto field = field_of(name, tensor, "shape");
  if (!field) return field.error();
  dom::array dimensions;
  if (field->get(dimensions) != simdjson::SUCCESS) return bad(name, "shape is no array");
  std::vector<std::int64_t> shape;
  for (const dom::element dimension : dimensions) {
    std::int64_t value = 0;
    if (dimension.get(value) != simdjson::SUCCESS || value < 0)
      return bad(name, "shape holds what is no dimension");
    shape.push_back(value);
  }
  return shape;
}

Result<void> HeaderReader::read_offsets(dom::object tensor, Entry& entry) const {
  const auto field = field_of(entry.name, tensor, "data_offsets");
  if (!field) return field.error();
  dom::array offsets;
  if (field->get(offsets) != simdjson::SUCCESS || offsets.size() != 2 ||
      offsets.at(0).get(entry.begin) != simdjson::SUCCESS ||
      offsets.at(1).get(entry.end) != simdjson::SUCCESS)
    return bad(entry.name, "data_offsets is no pair of offsets");
  if (entry.end < entry.begin) return bad(entry.name, "data_offsets ends before it begins");
  return {};
}

/// Whether the tensors, taken by offset, cover [0, size) without a hole or an overlap.
Result<void> check_cover(std::string_view file, std::vector<Entry>& entries, std::uint64_t size) {
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  std::uint64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != end)
      return bad_checkpoint(file, "tensor " + in_quotes(entry.name) + " begins at data offset " +
                                      std::to_string(entry.begin) + ", the one before ends at " +
                                      std::to_string(end));
    end = entry.end;
  }
  if (end != size)
    return bad_checkpoint(file, "the tensors end at data offset " + std::to_string(end) + " of " +
                                    std::to_string(size));
  return {};
}

Result<void> check_names(std::string_view file, const std::vector<Entry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const Entry& entry : entries) names.push_back(entry.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end())
    return bad_checkpoint(file, "tensor " + in_quotes(*twice) + " stands twice in the header");
  return {};
}

/// Returns the bytes of the header, which the file must contain.
Result<std::uint64_t> read_header_length(const ByteSource& source) {
  const auto prefix = read_held(source, 0, std::min(source.size(), kLengthBytes));
  if (!prefix) return prefix.error();
  ByteWindow window{*prefix, 0, source.size()};
  ByteReader reader(window);
  const auto length = reader.read<std::uint64_t>("the header's length");
  if (!length) return bad_bytes(source.name(), length.error());
  if (*length > kMaxHeaderBytes)
    return bad_checkpoint(source.name(), "a header of " + std::to_string(*length) +
                                             " bytes, more than " +
                                             std::to_string(kMaxHeaderBytes));
  const auto fits = reader.skip(*length, "the header");
  if (!fits) return bad_bytes(source.name(), fits.error());
  return *length;
}

/// Returns the header with the padding that simdjson needs, so that it is not copied again.
Result<simdjson::padded_string> read_header_text(const ByteSource& source, std::uint64_t length) {
  simdjson::padded_string text(length);
  if (text.data() == nullptr)
    return bad_checkpoint(source.name(), "the header is too large to parse");
  const auto read =
      source.read(kLengthBytes, std::as_writable_bytes(std::span(text.data(), length)));
  if (!read) return read.error();
  return text;
}

}  // namespace

std::span<const SafetensorsType> safetensors_types() noexcept { return kDTypes; }

Result<CheckpointFile> read_safetensors(const SharedSource& source) {
  const auto length = read_header_length(*source);
  if (!length) return length.error();
  const auto text = read_header_text(*source, *length);
  if (!text) return text.error();
  const std::string_view name = source->name();
  HeaderReader header(name);
  auto entries = header.read(*text);
  if (!entries) return entries.error();
  const std::uint64_t data = kLengthBytes + *length;
  if (const auto checked = check_names(name, *entries); !checked) return checked.error();
  if (const auto checked = check_cover(name, *entries, source->size() - data); !checked)
    return checked.error();
  CheckpointFile file;
  file.tensors.reserve(entries->size());
  for (Entry& entry : *entries) {
    file.tensors.push_back({.name = std::string(entry.name),
                            .dtype = entry.dtype,
                            .shape = std::move(entry.shape),
                            .source = source,
                            .offset = data + entry.begin,
                            .size = entry.end - entry.begin});
  }
  return file;
}

}  // namespace weft
