#include "weft/model/checkpoint/quantized/raw_tensors.h"

#include <algorithm>
#include <utility>

#include "weft/model/checkpoint/checkpoint_file.h"

namespace weft {

RawTensors::RawTensors(std::vector<CheckpointTensor> tensors) : tensors_(std::move(tensors)) {
  std::ranges::sort(tensors_, {}, &CheckpointTensor::name);
}

std::vector<std::string> RawTensors::modules(std::string_view suffix) const {
  std::vector<std::string> found;
  for (const CheckpointTensor& tensor : tensors_) {
    if (tensor.name.ends_with(suffix))
      found.push_back(tensor.name.substr(0, tensor.name.size() - suffix.size()));
  }
  return found;
}

const CheckpointTensor* RawTensors::find(const std::string& name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, &CheckpointTensor::name);
  return found == tensors_.end() || found->name != name ? nullptr : &*found;
}

const CheckpointTensor* RawTensors::take(const std::string& name) {
  const CheckpointTensor* tensor = find(name);
  if (tensor != nullptr) taken_.insert(tensor);
  return tensor;
}

Result<const CheckpointTensor*> RawTensors::require(const std::string& name,
                                                    const CheckpointTensor& needed_by) {
  const CheckpointTensor* tensor = take(name);
  if (tensor == nullptr) return bad_raw(needed_by, "has no " + in_quotes(name) + " beside it");
  return tensor;
}

std::vector<CheckpointTensor> RawTensors::rest() const {
  std::vector<CheckpointTensor> rest;
  for (const CheckpointTensor& tensor : tensors_) {
    if (!taken_.contains(&tensor)) rest.push_back(tensor);
  }
  return rest;
}

namespace {

std::string about_tensor(const CheckpointTensor& tensor, std::string_view what) {
  return "tensor " + in_quotes(tensor.name) + " " + std::string(what);
}

}  // namespace

Error bad_raw(const CheckpointTensor& tensor, std::string_view what) {
  return bad_checkpoint(tensor.file(), about_tensor(tensor, what));
}

Error unsupported_raw(const CheckpointTensor& tensor, std::string_view what) {
  return unsupported_checkpoint(tensor.file(), about_tensor(tensor, what));
}

Result<void> check_raw(const CheckpointTensor& tensor, DType dtype,
                       const std::vector<std::int64_t>& shape) {
  if (tensor.dtype == dtype && tensor.shape == shape) return {};
  const auto text = [](DType type, const std::vector<std::int64_t>& sizes) {
    return std::string(to_string(type)).append(" ").append(shape_text(sizes));
  };
  return bad_raw(tensor, "is " + text(tensor.dtype, tensor.shape) + ", not " + text(dtype, shape));
}

bool is_filled(const CheckpointTensor& tensor) noexcept {
  return std::ranges::all_of(tensor.shape, [](std::int64_t extent) { return extent > 0; });
}

Result<std::vector<std::byte>> read_all(const CheckpointTensor& tensor) {
  std::vector<std::byte> bytes(tensor.size);
  if (const auto read = tensor.read(0, bytes); !read) return read.error();
  return bytes;
}

}  // namespace weft
