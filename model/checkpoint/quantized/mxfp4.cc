#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "weft/model/checkpoint/quantized/assembled_source.h"
#include "weft/model/checkpoint/quantized/planes.h"
#include "weft/model/checkpoint/quantized/schemes.h"

namespace weft {
namespace {

constexpr std::int64_t kMxCodeBytes = 16;  // bytes of the codes of a block of 32
constexpr std::int64_t kMxLength = 32;

/// Reorders codes. In the source a byte has two neighbours, the first in the low half; in a block
/// of kMXFP4 a byte has inputs i and i + 16.
void reorder_halves(const std::byte* from, std::byte* to) {
  const auto code = [&](std::size_t input) {
    return from[input / 2] >> (input % 2 * 4) & std::byte{15};
  };
  for (std::size_t i = 0; i < kMxCodeBytes; ++i) to[i] = code(i) | code(i + 16) << 4;
}

class MxRows final : public RowMaker {
 public:
  MxRows(const CheckpointTensor& codes, const CheckpointTensor& scales, std::int64_t blocks)
      : codes_(codes), scales_(scales), blocks_(blocks) {}

  [[nodiscard]] Result<void> make(std::int64_t first, std::int64_t count,
                                  std::span<std::byte> out) const override {
    const std::int64_t width = blocks_ * kMxCodeBytes;
    const auto codes = read_band(codes_, width, {first, first + count, 0, width});
    if (!codes) return codes.error();
    const auto scales = read_band(scales_, blocks_, {first, first + count, 0, blocks_});
    if (!scales) return scales.error();
    std::byte* to = out.data();
    for (std::int64_t block = 0; block < count * blocks_; ++block, to += 1 + kMxCodeBytes) {
      to[0] = scales->bytes[static_cast<std::size_t>(block)];
      reorder_halves(codes->bytes.data() + block * kMxCodeBytes, to + 1);
    }
    return {};
  }

 private:
  CheckpointTensor codes_;
  CheckpointTensor scales_;
  std::int64_t blocks_;
};

Result<void> take_mxfp4(const std::string& name, QuantizedModel& model) {
  const CheckpointTensor& codes = *model.raw.take(name + "_blocks");
  const auto scales = model.raw.require(name + "_scales", codes);
  if (!scales) return scales.error();
  std::vector<std::int64_t> shape = codes.shape;
  if (codes.dtype != DType::kU8 || shape.size() < 3 || shape.back() != kMxCodeBytes ||
      !is_filled(codes))
    return bad_raw(codes, "is " + std::string(to_string(codes.dtype)) + " " + shape_text(shape) +
                              ", not u8 [..., outputs, blocks, 16]");
  shape.pop_back();
  if (const auto checked = check_raw(**scales, DType::kU8, shape); !checked) return checked;
  const std::int64_t blocks = shape.back();
  shape.back() = blocks * kMxLength;
  return model.add(assembled(name, codes.file(), DType::kMXFP4, shape,
                             std::make_unique<MxRows>(codes, **scales, blocks)));
}

}  // namespace

Result<void> read_mxfp4(const QuantizationConfig& /*config*/, QuantizedModel& model) {
  for (const std::string& name : model.raw.modules("_blocks")) {
    if (const auto taken = take_mxfp4(name, model); !taken) return taken;
  }
  return {};
}

}  // namespace weft
