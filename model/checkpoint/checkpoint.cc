#include "weft/model/checkpoint/checkpoint.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/model_error.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft {

std::string_view to_string(CheckpointFormat format) noexcept {
  constexpr std::array<std::string_view, 4> kNames = {"safetensors", "pickle", "llama2.c", "gguf"};
  return kNames[static_cast<std::size_t>(format)];
}

Result<void> CheckpointTensor::read(std::uint64_t first, std::span<std::byte> out) const {
  if (first > size || out.size() > size - first) internal_error("bytes outside their tensor");
  return source->read(offset + first, out);
}

Result<void> CheckpointTensor::read_blocks(std::uint64_t first, std::span<std::byte> out) const {
  if (auto done = read(first, out); !done || !is_encoded(dtype)) return done;
  const auto block = static_cast<std::uint64_t>(block_of(dtype).bytes);
  if (first % block != 0 || out.size() % block != 0) internal_error("blocks that are not whole");
  const auto bad = first_bad_scale(encoding_of(dtype), out);
  if (!bad) return {};
  const std::uint64_t number = first / block + static_cast<std::uint64_t>(*bad);
  return bad_checkpoint(file(), "tensor " + in_quotes(name) + ": the scale of block " +
                                    std::to_string(number) + " (" + std::string(to_string(dtype)) +
                                    ") is not a finite number");
}

std::uint64_t bytes_of_all(std::span<const CheckpointTensor> tensors) noexcept {
  std::uint64_t bytes = 0;
  for (const CheckpointTensor& tensor : tensors) bytes += tensor.size;
  return bytes;
}

Result<Checkpoint> Checkpoint::make(CheckpointFormat format, std::filesystem::path path,
                                    boost::json::value config,
                                    std::vector<CheckpointTensor> tensors,
                                    std::shared_ptr<const Vocabulary> vocabulary,
                                    std::optional<std::uint64_t> stored_bytes) {
  if (!config.is_object())
    return Error{ModelErrc::kBadConfig, path.string() + ": the configuration is no object"};
  std::ranges::sort(tensors, {}, &CheckpointTensor::name);
  const auto twice = std::ranges::adjacent_find(tensors, {}, &CheckpointTensor::name);
  if (twice != tensors.end()) {
    const std::string& file = twice->file();
    const std::string& other = std::next(twice)->file();
    return bad_checkpoint(file,
                          "tensor " + in_quotes(twice->name) +
                              (other == file ? " is there twice" : " is in " + other + " too"));
  }
  Checkpoint checkpoint;
  checkpoint.format_ = format;
  checkpoint.path_ = std::move(path);
  checkpoint.config_ = std::move(config);
  checkpoint.stored_bytes_ = stored_bytes.value_or(bytes_of_all(tensors));
  checkpoint.tensors_ = std::move(tensors);
  checkpoint.vocabulary_ = std::move(vocabulary);
  return checkpoint;
}

Result<Checkpoint> Checkpoint::with_tensors(std::vector<CheckpointTensor> tensors) const {
  return make(format_, path_, config_, std::move(tensors), vocabulary_, stored_bytes_);
}

std::vector<std::string> warnings_of(const Checkpoint& checkpoint) {
  const Vocabulary* const vocabulary = checkpoint.vocabulary();
  const bool typeless = checkpoint.format() == CheckpointFormat::kGguf && vocabulary != nullptr &&
                        vocabulary->types.empty();
  if (!typeless) return {};
  return {checkpoint.path().string() +
          ": tokenizer.ggml.token_type is missing, so no token is special: the texts of special "
          "tokens, also those that a chat template writes, are text like any other"};
}

const CheckpointTensor* Checkpoint::find(std::string_view name) const noexcept {
  const auto found = std::ranges::lower_bound(
      tensors_, name, {},
      [](const CheckpointTensor& tensor) { return std::string_view(tensor.name); });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace weft
