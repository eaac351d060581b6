#include "weft/kernels/linear/packed_weight.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "weft/core/error/checked.h"
#include "weft/core/error/internal_error.h"
#include "weft/kernels/kernel_error.h"
#include "weft/kernels/linear/packed_weight_cpu.h"

namespace weft {
namespace {

constexpr std::int64_t kMaxSide = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kLanes = PackedLayout::kPanelOutputs;

// Walking gigabytes in pages of 4 KiB costs a look-up every few hundred nanoseconds; x86's and
// Arm's next size is this. The system gives it where an aligned piece of it is asked for.
constexpr std::size_t kHugePage = std::size_t{2} << 20U;

std::string describe(DType dtype, std::int64_t outputs, std::int64_t inputs) {
  return std::string(to_string(dtype))
      .append(" [")
      .append(std::to_string(outputs))
      .append(", ")
      .append(std::to_string(inputs))
      .append("]");
}

bool is_supported(DType dtype, std::int64_t outputs, std::int64_t inputs) noexcept {
  if (outputs < 1 || outputs > kMaxSide || inputs < 1 || inputs > kMaxSide) return false;
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return true;
    case DType::kQ8_0:
      return inputs % PackedLayout::kBlock == 0;
    default:
      return false;
  }
}

/// Zeroed memory at a huge page's border; null when there is none. A page comes into being in the
/// thread that first writes to it, so filling by several threads also zeroes by several.
std::byte* map_memory(std::size_t bytes) noexcept {
  const std::size_t reserved = bytes + kHugePage;
  void* start = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  auto* memory = static_cast<std::byte*>(start);
  const std::size_t head =
      (kHugePage - reinterpret_cast<std::uintptr_t>(memory) % kHugePage) % kHugePage;
  if (head != 0) munmap(memory, head);
  munmap(memory + head + bytes, reserved - head - bytes);
  madvise(memory + head, bytes, MADV_HUGEPAGE);  // where the system will not, it is only slower
  return memory + head;
}

/// Numbers that do not stand side by side: `lanes` rows of `count`, taken in the order in which a
/// transposed matrix has them, are laid `row_bytes` apart.
template <class T>
void gather(const std::byte* from, const SourceMatrix& source, std::int64_t lanes,
            std::int64_t count, std::byte* to, std::int64_t row_bytes) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      std::memcpy(to + lane * row_bytes + i * kSize,
                  from + (i * source.stride_input + lane * source.stride_output) * kSize, kSize);
    }
  }
}

/// A source on its way into a weight: walks it in pieces of one panel.
class Filler {
 public:
  Filler(const PackedLayout& layout, std::byte* data, std::int64_t first_output,
         std::int64_t first_input, const SourceMatrix& source)
      : layout_(layout),
        data_(data),
        first_output_(first_output),
        first_input_(first_input),
        source_(source),
        block_(block_of(source.dtype)) {}

  void run() {
    // The order in which the source's memory is read in sequence.
    if (source_.stride_input == 1) {
      for (std::int64_t row = 0; row < source_.outputs; row += lanes_from(row)) {
        for (std::int64_t input = 0; input < source_.inputs; input += PackPiece::kMaxInputs) {
          pack(row, input);
        }
      }
      return;
    }
    gathered_.resize(static_cast<std::size_t>(kLanes * kGatheredRow));
    for (std::int64_t input = 0; input < source_.inputs; input += PackPiece::kMaxInputs) {
      for (std::int64_t row = 0; row < source_.outputs; row += lanes_from(row)) pack(row, input);
    }
  }

 private:
  static constexpr std::int64_t kGatheredRow = PackPiece::kMaxInputs * 8;  // bytes

  /// Rows of the source from `row` on that lie in one panel.
  [[nodiscard]] std::int64_t lanes_from(std::int64_t row) const noexcept {
    const std::int64_t output = first_output_ + row;
    std::int64_t lanes = kLanes - layout_.lane_of(output);
    if (layout_.gated && output < layout_.outputs)
      lanes = std::min(lanes, layout_.outputs - output);
    return std::min(lanes, source_.outputs - row);
  }

  void pack(std::int64_t row, std::int64_t input) {
    const std::int64_t output = first_output_ + row;
    PackPiece piece{.layout = layout_,
                    .panel = data_ + layout_.panel_of(output) * layout_.panel_bytes(),
                    .lane = layout_.lane_of(output),
                    .lanes = lanes_from(row),
                    .input = first_input_ + input,
                    .count = std::min(PackPiece::kMaxInputs, source_.inputs - input),
                    .from = source_.dtype};
    find_rows(row, input, piece);
    pack_piece(piece);
  }

  void find_rows(std::int64_t row, std::int64_t input, PackPiece& piece) {
    const std::int64_t place = row * source_.stride_output + input * source_.stride_input;
    const std::byte* from = source_.data + place / block_.elements * block_.bytes;
    std::int64_t step = source_.stride_output / block_.elements * block_.bytes;
    if (source_.stride_input != 1) {
      const auto to = gathered_.data();
      if (block_.bytes == 8)
        gather<std::uint64_t>(from, source_, piece.lanes, piece.count, to, kGatheredRow);
      if (block_.bytes == 4)
        gather<std::uint32_t>(from, source_, piece.lanes, piece.count, to, kGatheredRow);
      if (block_.bytes == 2)
        gather<std::uint16_t>(from, source_, piece.lanes, piece.count, to, kGatheredRow);
      from = to;
      step = kGatheredRow;
    }
    for (std::int64_t lane = 0; lane < piece.lanes; ++lane) {
      piece.rows[static_cast<std::size_t>(lane)] = from + lane * step;
    }
  }

  PackedLayout layout_;
  std::byte* data_;
  std::int64_t first_output_;
  std::int64_t first_input_;
  SourceMatrix source_;
  DTypeBlock block_;
  std::vector<std::byte> gathered_;
};

void check_fill(const PackedLayout& layout, std::int64_t first_output, std::int64_t first_input,
                const SourceMatrix& source) {
  const std::int64_t outputs = layout.gated ? 2 * layout.outputs : layout.outputs;
  if (first_output < 0 || source.outputs < 0 || source.outputs > outputs - first_output) {
    internal_error("fill: outputs beyond the weight's");
  }
  if (first_input < 0 || source.inputs < 0 || source.inputs > layout.inputs - first_input) {
    internal_error("fill: inputs beyond the weight's");
  }
  if (!is_float(source.dtype)) internal_error("fill: the source holds no real numbers");
  if (layout.dtype == DType::kQ8_0 && source.dtype != DType::kQ8_0) {
    internal_error("fill: q8_0 is filled from q8_0 only");
  }
  if (source.dtype == DType::kQ8_0 &&
      (source.stride_input != 1 || source.stride_output % PackedLayout::kBlock != 0 ||
       source.inputs % PackedLayout::kBlock != 0)) {
    internal_error("fill: a source of q8_0 is not in whole blocks");
  }
  if (layout.dtype == DType::kQ8_0 && first_input % PackedLayout::kBlock != 0) {
    internal_error("fill: q8_0 starts within a block");
  }
}

}  // namespace

void PackedWeight::Free::operator()(std::byte* memory) const noexcept { munmap(memory, mapped); }

Result<PackedWeight> PackedWeight::allocate(DType dtype, std::int64_t outputs, std::int64_t inputs,
                                            bool gated) {
  if (!is_supported(dtype, outputs, inputs)) {
    return Error{KernelErrc::kUnsupportedWeight, describe(dtype, outputs, inputs)};
  }
  PackedWeight weight;
  weight.layout_ = {.dtype = dtype, .outputs = outputs, .inputs = inputs, .gated = gated};
  const auto bytes = checked_multiply(weight.layout_.panels(), weight.layout_.panel_bytes());
  constexpr std::int64_t kPage = 4096;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() - (1LL << 22U);
  const auto no_memory = [&] {
    return Error{KernelErrc::kNoMemory, describe(dtype, outputs, inputs)};
  };
  if (!bytes || *bytes > kMost) return no_memory();
  const auto mapped = static_cast<std::size_t>((*bytes + kPage - 1) / kPage * kPage);
  std::byte* memory = map_memory(mapped);
  if (memory == nullptr) return no_memory();
  weight.data_ = std::unique_ptr<std::byte, Free>(memory, Free{.mapped = mapped});
  weight.bytes_ = static_cast<std::size_t>(*bytes);
  return weight;
}

void PackedWeight::fill(std::int64_t first_output, const SourceMatrix& source,
                        std::int64_t first_input) {
  check_fill(layout_, first_output, first_input, source);
  if (source.outputs == 0 || source.inputs == 0) return;
  Filler(layout_, data_.get(), first_output, first_input, source).run();
  finish_packing();
}

}  // namespace weft
