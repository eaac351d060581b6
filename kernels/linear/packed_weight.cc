#include "weft/kernels/linear/packed_weight.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error/checked.h"
#include "weft/core/error/internal_error.h"
#include "weft/kernels/kernel_error.h"
#include "weft/kernels/linear/packed_weight_cpu.h"

namespace weft {
namespace {

constexpr std::int64_t kMaxSide = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kLanes = PackedLayout::kPanelOutputs;

// Reading gigabytes in pages of 4 KiB misses the TLB every few hundred nanoseconds. This is the
// next page size of x86 and Arm; the system uses it for memory that is aligned to it.
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
  if (dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16) return true;
  return is_encoded(dtype) && inputs % block_of(dtype).elements == 0;
}

/// Returns zeroed memory aligned to a huge page, or null. The system zeroes a page when a thread
/// first writes to it, so threads that fill the memory also share the zeroing.
std::byte* map_memory(std::size_t bytes) noexcept {
  const std::size_t reserved = bytes + kHugePage;
  void* start = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  auto* memory = static_cast<std::byte*>(start);
  const std::size_t head =
      (kHugePage - reinterpret_cast<std::uintptr_t>(memory) % kHugePage) % kHugePage;
  if (head != 0) munmap(memory, head);
  munmap(memory + head + bytes, reserved - head - bytes);
  madvise(memory + head, bytes, MADV_HUGEPAGE);  // a refusal only makes reading slower
  return memory + head;
}

/// Gathers numbers that are not contiguous: `lanes` rows of `count` numbers, read in the order of a
/// transposed matrix, are written `row_bytes` apart.
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

/// Copies a source into a weight, in pieces of one panel.
class Filler {
 public:
  Filler(const PackedWeight& weight, std::byte* data, std::int64_t first_output,
         std::int64_t first_input, const SourceMatrix& source)
      : weight_(weight),
        data_(data),
        layout_(weight.layout()),
        first_output_(first_output),
        first_input_(first_input),
        source_(source),
        block_(block_of(source.dtype)) {}

  void run() {
    // This order reads the source's memory sequentially.
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

  /// The number of the source's rows from `row` on that go to one panel.
  [[nodiscard]] std::int64_t lanes_from(std::int64_t row) const noexcept {
    const std::int64_t output = first_output_ + row;
    std::int64_t lanes = kLanes - layout_.lane_of(output);
    if (layout_.gated && output < layout_.outputs)
      lanes = std::min(lanes, layout_.outputs - output);
    return std::min(lanes, source_.outputs - row);
  }

  void pack(std::int64_t row, std::int64_t input) {
    const std::int64_t output = first_output_ + row;
    const PackedPanel panel = weight_.panel(layout_.panel_of(output));
    PackPiece piece{.layout = *panel.layout,
                    .panel = data_ + (panel.data - weight_.data()),
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

  const PackedWeight& weight_;
  std::byte* data_;
  const PackedLayout& layout_;
  std::int64_t first_output_;
  std::int64_t first_input_;
  SourceMatrix source_;
  DTypeBlock block_;
  std::vector<std::byte> gathered_;
};

/// Checks a piece that goes into panels of one type.
void check_types(DType to, std::int64_t first_input, const SourceMatrix& source) {
  if (!is_encoded(to)) return;
  if (source.dtype != to) internal_error("fill: an encoding is filled from the same only");
  if (first_input % block_of(to).elements != 0) internal_error("fill: starts within a block");
}

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
  const std::int64_t block = block_of(source.dtype).elements;
  if (block > 1 && (source.stride_input != 1 || source.stride_output % block != 0 ||
                    source.inputs % block != 0)) {
    internal_error("fill: an encoded source is not in whole blocks");
  }
}

}  // namespace

void PackedWeight::Free::operator()(std::byte* memory) const noexcept { munmap(memory, mapped); }

bool PackedWeight::can_hold(std::span<const WeightRun> runs, std::int64_t outputs,
                            bool gated) noexcept {
  std::int64_t next = 0;
  for (const WeightRun& run : runs) {
    const bool begins_panel = next == 0 || (gated ? next == outputs : next % kLanes == 0);
    if (run.first_output != next || run.outputs < 1 || !begins_panel) return false;
    next += run.outputs;
  }
  return next == (gated ? 2 : 1) * outputs;
}

Result<PackedWeight> PackedWeight::allocate(DType dtype, std::int64_t outputs, std::int64_t inputs,
                                            bool gated) {
  if (!is_supported(dtype, outputs, inputs)) {
    return Error{KernelErrc::kUnsupportedWeight, describe(dtype, outputs, inputs)};
  }
  const WeightRun all{dtype, 0, gated ? 2 * outputs : outputs};
  return allocate(std::span(&all, 1), outputs, inputs, gated);
}

Result<PackedWeight> PackedWeight::allocate(std::span<const WeightRun> runs, std::int64_t outputs,
                                            std::int64_t inputs, bool gated) {
  if (!can_hold(runs, outputs, gated)) internal_error("allocate: runs that are no weight's");
  const DType first = runs.front().dtype;
  const auto no_memory = [&] {
    return Error{KernelErrc::kNoMemory, describe(first, outputs, inputs)};
  };
  PackedWeight weight;
  weight.runs_.clear();
  std::optional<std::int64_t> bytes = 0;
  for (const WeightRun& run : runs) {
    if (!is_supported(run.dtype, outputs, inputs)) {
      return Error{KernelErrc::kUnsupportedWeight, describe(run.dtype, outputs, inputs)};
    }
    const PackedLayout layout{
        .dtype = run.dtype, .outputs = outputs, .inputs = inputs, .gated = gated};
    const std::int64_t panels =
        runs.size() == 1 ? layout.panels() : (run.outputs + kLanes - 1) / kLanes;
    weight.runs_.push_back({layout, run.first_output, run.first_output / kLanes, *bytes});
    const auto own = checked_multiply(panels, layout.panel_bytes());
    bytes = own ? checked_add(*bytes, *own) : std::nullopt;
    if (!bytes) return no_memory();
  }
  constexpr std::int64_t kPage = 4096;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() - (1LL << 22U);
  if (*bytes > kMost) return no_memory();
  const auto mapped = static_cast<std::size_t>((*bytes + kPage - 1) / kPage * kPage);
  std::byte* memory = map_memory(mapped);
  if (memory == nullptr) return no_memory();
  weight.data_ = std::unique_ptr<std::byte, Free>(memory, Free{.mapped = mapped});
  weight.bytes_ = static_cast<std::size_t>(*bytes);
  return weight;
}

PackedPanel PackedWeight::panel(std::int64_t index) const noexcept {
  std::size_t run = 0;
  if (is_mixed() && gated()) {
    run = static_cast<std::size_t>(index % 2);
    index /= 2;
  } else {
    while (run + 1 < runs_.size() && index >= runs_[run + 1].first_panel) ++run;
    index -= runs_[run].first_panel;
  }
  const Run& found = runs_[run];
  return {&found.layout, data_.get() + found.offset + index * found.layout.panel_bytes()};
}

void PackedWeight::set_input_order(std::shared_ptr<const std::vector<std::int32_t>> order) {
  if (order != nullptr && std::ssize(*order) != inputs()) {
    internal_error("set_input_order: not one input for each column");
  }
  input_order_ = std::move(order);
}

bool PackedWeight::all_types_are(bool (*wanted)(DType)) const noexcept {
  return std::ranges::all_of(runs_, [&](const Run& run) { return wanted(run.layout.dtype); });
}

void PackedWeight::fill(std::int64_t first_output, const SourceMatrix& source,
                        std::int64_t first_input) {
  check_fill(layout(), first_output, first_input, source);
  if (source.outputs == 0 || source.inputs == 0) return;
  for (const Run& run : runs_) {
    const std::int64_t end = first_output + source.outputs;
    const bool is_last = &run == &runs_.back();
    if (end <= run.first_output || (!is_last && first_output >= (&run + 1)->first_output)) continue;
    check_types(run.layout.dtype, first_input, source);
  }
  Filler(*this, data_.get(), first_output, first_input, source).run();
}

}  // namespace weft
