#include "weft/model/checkpoint/safetensors_writer.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstring>
#include <string>

#include "weft/core/error/internal_error.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/safetensors.h"

namespace weft {
namespace {

namespace json = boost::json;

// The reference writer pads its header so that tensors begin at a multiple of this.
constexpr std::size_t kDataAlignment = 8;

std::string_view safetensors_name(DType dtype) {
  for (const SafetensorsType& type : safetensors_types()) {
    if (type.dtype == dtype) return type.name;
  }
  internal_error("lay_out_safetensors: a type that the format does not have");
}

/// Returns the shape of the tensor's bytes.
std::vector<std::int64_t> stored_shape(const TensorEntry& tensor) {
  std::vector<std::int64_t> shape = tensor.shape;
  if (is_encoded(tensor.dtype)) shape.back() = bytes_of(tensor.dtype, shape.back()).value_or(0);
  return shape;
}

}  // namespace

TensorLayout lay_out_safetensors(std::span<const TensorEntry> tensors) {
  json::object metadata = {{"format", "pt"}};
  json::object header;
  header[kSafetensorsMetadata] = nullptr;  // it comes first
  std::vector<std::uint64_t> offsets;
  std::uint64_t end = 0;
  for (const TensorEntry& tensor : tensors) {
    const bool encoded = is_encoded(tensor.dtype);
    if (encoded) {
      metadata[std::string(kSafetensorsEncoding) + tensor.name] = to_string(tensor.dtype);
    }
    const auto size = tensor_bytes(tensor.dtype, tensor.shape);
    if (!size) internal_error("lay_out_safetensors: a shape without a size");
    offsets.push_back(end);
    end += static_cast<std::uint64_t>(*size);
    const std::vector<std::int64_t> shape = stored_shape(tensor);
    header[tensor.name] = {{"dtype", safetensors_name(encoded ? DType::kU8 : tensor.dtype)},
                           {"shape", json::array(shape.begin(), shape.end())},
                           {"data_offsets", {offsets.back(), end}}};
  }
  header[kSafetensorsMetadata] = std::move(metadata);
  std::string text = json::serialize(header);
  text.resize((text.size() + kDataAlignment - 1) / kDataAlignment * kDataAlignment, ' ');
  const auto length = static_cast<std::uint64_t>(text.size());
  TensorLayout layout;
  layout.header.resize(sizeof(length) + text.size());
  std::memcpy(layout.header.data(), &length, sizeof(length));
  std::memcpy(layout.header.data() + sizeof(length), text.data(), text.size());
  for (const std::uint64_t offset : offsets) {
    layout.offsets.push_back(layout.header.size() + offset);
  }
  layout.size = layout.header.size() + end;
  return layout;
}

}  // namespace weft
