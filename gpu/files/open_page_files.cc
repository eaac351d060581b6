#include "weft/gpu/files/open_page_files.h"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/gpu/device_error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/program.h"
#include "weft/model/spec/spec.h"

namespace weft {
namespace {

/// Training changes all parts of a tensor, so a few pieces distinguish models.
constexpr std::uint64_t kSampleBytes = 4096;
constexpr std::uint64_t kSamples = 3;

/// The parts to be hashed, each after its length.
class Parts {
 public:
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  void add(std::int64_t number) { add(std::as_bytes(std::span(&number, 1))); }
  void add(std::span<const std::byte> bytes) {
    const std::uint64_t size = bytes.size();
    append(std::as_bytes(std::span(&size, 1)));
    append(bytes);
  }
  [[nodiscard]] PageKey sum() const { return sha256(bytes_); }

 private:
  void append(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  std::vector<std::byte> bytes_;
};

Result<PageKey> sum_of(const CheckpointTensor& tensor) {
  Parts parts;
  parts.add(tensor.name);
  parts.add(to_string(tensor.dtype));
  for (const std::int64_t size : tensor.shape) parts.add(size);
  std::array<std::byte, kSampleBytes> sample;
  const std::uint64_t bytes = std::min(tensor.size, kSampleBytes);
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    const std::uint64_t first = (tensor.size - bytes) / (kSamples - 1) * i;
    const auto piece = std::span(sample).first(bytes);
    if (const auto read = tensor.read(first, piece); !read) return read.error();
    parts.add(std::span<const std::byte>(piece));
  }
  return parts.sum();
}

}  // namespace

Result<PageKey> page_identity(const OpenedModel& model, DType kv_dtype, const DeviceLimits& limits,
                              std::string_view computer) {
  Parts parts;
  parts.add(describe(*model.program));
  parts.add(boost::json::serialize(model.checkpoint->config()));
  if (model.family) parts.add(boost::json::serialize(model.family->tree()));
  parts.add(to_string(kv_dtype));
  parts.add(limits.page_tokens);
  parts.add(limits.context);
  parts.add(computer);
  for (const CheckpointTensor& tensor : model.checkpoint->tensors()) {
    const auto sum = sum_of(tensor);
    if (!sum) return sum.error();
    parts.add(*sum);
  }
  return parts.sum();
}

Result<std::shared_ptr<PageFiles>> open_page_files(const OpenedModel& model,
                                                   const CapacityWishes& wishes,
                                                   const DeviceLimits& limits,
                                                   std::unique_ptr<PageMemory> memory,
                                                   std::string_view computer) {
  if (!limits.keeps_kv || model.program->has_encoder) {
    return Error{DeviceErrc::kUnfit, "cache.folder: " + model.program->family +
                                         " keeps nothing that other requests could use"};
  }
  const auto identity = page_identity(model, wishes.kv_dtype, limits, computer);
  if (!identity) return identity.error();
  auto folder = PageFolder::open(wishes.files, *identity, memory->page_bytes(), wishes.file_bytes);
  if (!folder) return Error{DeviceErrc::kUnfit, "cache.folder: " + to_string(folder.error())};
  return std::make_shared<PageFiles>(*std::move(folder), *identity, std::move(memory),
                                     limits.pages);
}

}  // namespace weft
