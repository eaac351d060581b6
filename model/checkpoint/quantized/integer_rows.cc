#include "weft/model/checkpoint/quantized/integer_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "weft/kernels/encoding/integer_codes.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/quantized/raw_tensors.h"

namespace weft {
namespace {

/// GGUF's encodings for symmetric groups of 32, which have no zero: a scale in f16, then codes as
/// they are, or codes of 8 bits as int8.
constexpr IntegerCodes kQ4 = {DType::kQ4_0, 4, 32};
constexpr IntegerCodes kQ8 = {DType::kQ8_0, 8, 32};

/// Bytes to read at once for a weight whose outputs are a few bytes of each line of a file: a disk
/// then reads nearly sequentially.
constexpr std::int64_t kWidePiece = std::int64_t{16} << 20U;

const IntegerCodes* find_codes(int bits, std::int64_t group, bool symmetric, DType scales) {
  const bool is_narrow = scales == DType::kF16 || scales == DType::kBF16;
  if (symmetric && group == 32 && is_narrow && bits == 4) return &kQ4;
  if (symmetric && group == 32 && is_narrow && bits == 8) return &kQ8;
  const auto* found = std::ranges::find_if(kIntegerCodes, [&](const IntegerCodes& codes) {
    return codes.bits == bits && codes.group == group;
  });
  return found == kIntegerCodes.end() ? nullptr : found;
}

/// Packs 32 codes as in integer_codes.h.
void pack_run(int bits, const std::uint8_t* codes, std::byte* to) {
  std::array<std::uint8_t, 32> bytes{};
  if (bits == 8) std::memcpy(bytes.data(), codes, bytes.size());
  if (bits == 4) {
    for (std::size_t i = 0; i < 16; ++i)
      bytes[i] = static_cast<std::uint8_t>(codes[i] | codes[i + 16] << 4U);
  }
  if (bits == 2 || bits == 3) {
    for (std::size_t i = 0; i < 8; ++i) {
      bytes[i] = static_cast<std::uint8_t>((codes[i] & 3) | (codes[i + 8] & 3) << 2 |
                                           (codes[i + 16] & 3) << 4 | (codes[i + 24] & 3) << 6);
    }
    for (std::size_t i = 0; bits == 3 && i < 32; ++i) {
      bytes[8 + i / 8] = static_cast<std::uint8_t>(bytes[8 + i / 8] | (codes[i] >> 2) << (i % 8));
    }
  }
  std::memcpy(to, bytes.data(), static_cast<std::size_t>(IntegerCodes::kRun / 8 * bits));
}

/// The numbers of some outputs while they are converted.
struct IntegerTile {
  static constexpr std::int64_t kOutputs = 16;  ///< words of 32 bits in a cache line

  std::vector<std::uint8_t> codes;    ///< [outputs, inputs], in the order of the file
  std::vector<std::uint8_t> ordered;  ///< one output's codes, if the weight has another order
  std::vector<std::uint8_t> zeros;    ///< [outputs, groups]
  std::vector<float> scales;          ///< one output's scales
};

class IntegerRows final : public RowMaker {
 public:
  IntegerRows(IntegerWeight weight, const IntegerCodes& to)
      : weight_(std::move(weight)),
        to_(to),
        has_zeros_(integer_codes_of(to.dtype) != nullptr),
        row_bytes_(*bytes_of(to.dtype, weight_.inputs)) {}

  [[nodiscard]] Result<void> make(std::int64_t first, std::int64_t count,
                                  std::span<std::byte> out) const override {
    const auto codes = weight_.codes.read(first, count);
    if (!codes) return codes.error();
    const auto scales = weight_.scales.read(first, count);
    if (!scales) return scales.error();
    Band zeros;
    if (weight_.zeros) {
      auto read = weight_.zeros->read(first, count);
      if (!read) return read.error();
      zeros = std::move(*read);
    }
    IntegerTile tile = empty_tile();
    for (std::int64_t i = 0; i < count; i += IntegerTile::kOutputs) {
      const std::int64_t some = std::min(IntegerTile::kOutputs, count - i);
      weight_.codes.unpack(*codes, first + i, some, tile.codes);
      if (weight_.zeros) take_zeros(zeros, first + i, some, tile);
      for (std::int64_t row = 0; row < some; ++row) {
        const std::int64_t output = first + i + row;
        auto widened = weight_.scales.widen(*scales, output, tile.scales);
        if (!widened) return widened;
        auto written = write(tile, row, output, out.data() + (i + row) * row_bytes_);
        if (!written) return written;
      }
    }
    return {};
  }

 private:
  [[nodiscard]] IntegerTile empty_tile() const {
    const auto inputs = static_cast<std::size_t>(weight_.inputs);
    const auto groups = static_cast<std::size_t>(weight_.scales.columns());
    constexpr auto kOutputs = static_cast<std::size_t>(IntegerTile::kOutputs);
    return {std::vector<std::uint8_t>(kOutputs * inputs),
            std::vector<std::uint8_t>(weight_.order ? inputs : 0),
            std::vector<std::uint8_t>(kOutputs * groups, static_cast<std::uint8_t>(to_.middle())),
            std::vector<float>(groups)};
  }

  /// Returns an output's codes in the order of its groups.
  std::uint8_t* codes_of(IntegerTile& tile, std::int64_t row) const {
    std::uint8_t* codes = tile.codes.data() + row * weight_.inputs;
    if (weight_.order == nullptr) return codes;
    const std::vector<std::int32_t>& order = *weight_.order;
    for (std::size_t i = 0; i < order.size(); ++i) tile.ordered[i] = codes[order[i]];
    return tile.ordered.data();
  }

  void take_zeros(const Band& band, std::int64_t first, std::int64_t count,
                  IntegerTile& tile) const {
    weight_.zeros->unpack(band, first, count, tile.zeros);
    const unsigned mask = (1U << static_cast<unsigned>(to_.bits)) - 1;
    for (std::uint8_t& zero : tile.zeros) {
      zero = static_cast<std::uint8_t>((zero + static_cast<unsigned>(weight_.zero_offset)) & mask);
    }
  }

  [[nodiscard]] Result<void> write_scale(float scale, std::int64_t output, std::byte* to) const {
    scale *= weight_.scale_factor;
    if (has_zeros_ && to_.scale_bytes() == 4) {
      std::memcpy(to, &scale, sizeof(scale));
      return {};
    }
    const std::uint16_t bits = to_f16(scale);
    if (std::isinf(from_f16(bits)))
      return bad_raw(weight_.scales.tensor(), "has a scale beyond f16's largest number, " +
                                                  std::to_string(scale) + ", for output " +
                                                  std::to_string(output));
    std::memcpy(to, &bits, sizeof(bits));
    return {};
  }

  [[nodiscard]] Result<void> write(IntegerTile& tile, std::int64_t row, std::int64_t output,
                                   std::byte* to) const {
    std::uint8_t* codes = codes_of(tile, row);
    const std::uint8_t* zero = tile.zeros.data() + row * weight_.scales.columns();
    const std::int64_t scales_each = weight_.inputs / weight_.scales.columns();
    const bool as_int8 = !has_zeros_ && to_.bits == 8;
    const std::int64_t codes_at = has_zeros_ ? to_.codes_at() : 2;
    for (std::int64_t at = 0; at < weight_.inputs; at += to_.elements()) {
      unsigned zeros = 0;
      for (std::int64_t i = 0; i < to_.groups; ++i) {
        const auto group = static_cast<std::size_t>((at + i * to_.group) / scales_each);
        zeros |= static_cast<unsigned>(zero[group]) << static_cast<unsigned>(4 * i);
        const auto done =
            write_scale(tile.scales[group], output, to + i * (has_zeros_ ? to_.scale_bytes() : 2));
        if (!done) return done;
      }
      if (has_zeros_) to[to_.zeros_at()] = static_cast<std::byte>(zeros);
      std::byte* run = to + codes_at;
      for (std::int64_t i = 0; i < to_.elements(); i += IntegerCodes::kRun) {
        std::uint8_t* from = codes + at + i;
        for (std::int64_t j = 0; as_int8 && j < IntegerCodes::kRun; ++j) from[j] ^= 0x80U;
        pack_run(to_.bits, from, run);
        run += to_.run_bytes();
      }
      to = run;
    }
    return {};
  }

  IntegerWeight weight_;
  IntegerCodes to_;
  bool has_zeros_;  ///< whether blocks have zeros
  std::int64_t row_bytes_;
};

}  // namespace

std::int64_t block_length(std::int64_t group, std::int64_t inputs) noexcept {
  for (const std::int64_t length : {256, 128, 64, 32}) {
    if (group % length == 0 && inputs % length == 0) return length;
  }
  return 0;
}

Result<CheckpointTensor> integer_tensor(std::string name, IntegerWeight weight) {
  const CheckpointTensor& raw = weight.codes.tensor();
  const std::int64_t group = weight.inputs / weight.scales.columns();
  const std::int64_t length = block_length(group, weight.inputs);
  const IntegerCodes* to =
      find_codes(weight.bits, length, !weight.zeros && !weight.order, weight.scales.tensor().dtype);
  if (to == nullptr || weight.inputs % to->elements() != 0) {
    return unsupported_raw(raw, "has codes of " + std::to_string(weight.bits) +
                                    " bits in groups of " + std::to_string(group) + " of " +
                                    std::to_string(weight.inputs) +
                                    " inputs, which no encoding has");
  }
  const std::string file = raw.file();
  const std::vector shape = {weight.outputs, weight.inputs};
  auto order = weight.order;
  const bool by_inputs = weight.codes.has_lines_of_outputs();
  auto tensor = assembled(std::move(name), file, to->dtype, shape,
                          std::make_unique<IntegerRows>(std::move(weight), *to));
  if (!tensor) return tensor;
  tensor->input_order = std::move(order);
  if (by_inputs) tensor->piece_bytes = kWidePiece;
  return tensor;
}

Result<std::shared_ptr<const std::vector<std::int32_t>>> order_by_group(
    const CheckpointTensor& group_of, std::int64_t inputs, std::int64_t groups) {
  if (const auto checked = check_raw(group_of, DType::kI32, {inputs}); !checked)
    return checked.error();
  const auto bytes = read_all(group_of);
  if (!bytes) return bytes.error();
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(inputs));
  std::memcpy(numbers.data(), bytes->data(), bytes->size());
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(groups));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] >= groups)
      return bad_raw(group_of, "has the group " + std::to_string(numbers[i]) + " for input " +
                                   std::to_string(i) + ", of " + std::to_string(groups));
    ++sizes[static_cast<std::size_t>(numbers[i])];
  }
  const std::int64_t size = inputs / groups;
  if (std::ranges::any_of(sizes, [&](std::int64_t own) { return own != size; }))
    return bad_raw(group_of, "has groups that are not of " + std::to_string(size) + " inputs each");
  if (std::ranges::is_sorted(numbers)) return std::shared_ptr<const std::vector<std::int32_t>>();
  std::vector<std::int32_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, {}, [&](std::int32_t input) { return numbers[static_cast<std::size_t>(input)]; });
  return std::make_shared<const std::vector<std::int32_t>>(std::move(order));
}

}  // namespace weft
