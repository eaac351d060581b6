#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "weft/kernels/encoding/code_boxes.h"
#include "weft/kernels/encoding/random_block.h"
#include "weft/kernels/linear/linear_cuda.h"
#include "weft/tests/kernels/cuda/ops_cuda_fixture.h"

namespace weft::cuda {

inline constexpr std::int64_t kBlockInputs = 512;  // whole blocks of every encoding

/// A matrix of random blocks on both sides. Its outputs are held in up to three encodings. With
/// `boxed` the device has all but q4_k in boxes; the host always has the blocks of a file.
class BlockMatrix {
 public:
  struct Part {
    DType dtype;
    std::int64_t outputs;
  };

  BlockMatrix(const std::vector<Part>& parts, bool gated, bool boxed, std::mt19937& random) {
    std::int64_t outputs = 0;
    for (const Part& part : parts) outputs += part.outputs;
    for (DeviceMatrix* side : {&host_, &device_}) {
      side->dtype = parts.front().dtype;
      side->outputs = gated ? outputs / 2 : outputs;
      side->inputs = kBlockInputs;
      side->stride = kBlockInputs;
      side->gated = gated;
      side->run_count = static_cast<std::int32_t>(parts.size());
    }
    std::int64_t first = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      add(parts[i], boxed && parts[i].dtype != DType::kQ4_K, static_cast<std::int32_t>(first), i,
          random);
      first += parts[i].outputs;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      host_.runs[i].data = blocks_[i].data();
      device_.runs[i].data = on_device_[i].device();
    }
  }

  /// A matrix with the same number of outputs of each type.
  BlockMatrix(const std::vector<DType>& types, std::int64_t outputs, bool gated,
              std::mt19937& random)
      : BlockMatrix(evenly(types, gated ? 2 * outputs : outputs), gated, false, random) {}

  [[nodiscard]] const DeviceMatrix& on(bool device) const { return device ? device_ : host_; }

 private:
  static std::vector<Part> evenly(const std::vector<DType>& types, std::int64_t all) {
    const auto count = static_cast<std::int64_t>(types.size());
    std::vector<Part> parts;
    for (std::int64_t i = 0; i < count; ++i) {
      parts.push_back(
          {types[static_cast<std::size_t>(i)], all * (i + 1) / count - all * i / count});
    }
    return parts;
  }

  void add(const Part& part, bool boxed, std::int32_t first, std::size_t run,
           std::mt19937& random) {
    const DTypeBlock block = block_of(part.dtype);
    std::vector<std::byte> bytes;
    for (std::int64_t i = 0; i < part.outputs * (kBlockInputs / block.elements); ++i) {
      const auto one = weft::random_block(encoding_of(part.dtype), random);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    const auto make = [&](const DTypeBlock& of, bool in_boxes) {
      return EncodedRun{nullptr,
                        part.dtype,
                        first,
                        static_cast<std::int32_t>(of.elements),
                        static_cast<std::int32_t>(of.bytes),
                        in_boxes};
    };
    const CodeBox box = box_of(part.dtype);
    host_.runs[run] = make(block, false);
    device_.runs[run] = boxed ? make({box.columns, box.bytes()}, true) : host_.runs[run];
    on_device_.emplace_back(boxed ? in_boxes(part, bytes) : bytes);
    blocks_.push_back(std::move(bytes));
  }

  static std::vector<std::byte> in_boxes(const Part& part, std::span<const std::byte> blocks) {
    std::vector<std::byte> boxes(
        static_cast<std::size_t>(boxed_bytes(part.dtype, part.outputs, kBlockInputs)));
    const std::size_t groups = static_cast<std::size_t>(part.outputs / CodeBox::kRows);
    for (std::size_t i = 0; i < groups; ++i) {
      put_in_boxes(part.dtype, kBlockInputs,
                   blocks.subspan(i * blocks.size() / groups, blocks.size() / groups),
                   std::span(boxes).subspan(i * boxes.size() / groups, boxes.size() / groups));
    }
    return boxes;
  }

  std::vector<std::vector<std::byte>> blocks_;
  std::vector<Mirror<std::byte>> on_device_;
  DeviceMatrix host_;
  DeviceMatrix device_;
};

}  // namespace weft::cuda
