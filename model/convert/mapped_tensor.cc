#include "weft/model/convert/mapped_tensor.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/gguf/gguf_writer.h"
#include "weft/model/checkpoint/quantized/assembled_source.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/model_error.h"

namespace weft {
namespace {

/// Reads some units of a map at a time, converted to one type.
class UnitMaker final : public RowMaker {
 public:
  /// `row` is the count of numbers in a row of the tensor.
  UnitMaker(UnitMap map, DType dtype, std::int64_t row)
      : map_(std::move(map)), dtype_(dtype), row_(row) {}

  [[nodiscard]] Result<void> make(std::int64_t first, std::int64_t count,
                                  std::span<std::byte> out) const override {
    std::int64_t unit = first * row_ / map_.length;
    const std::int64_t end = unit + count * row_ / map_.length;
    auto run = std::ranges::upper_bound(map_.runs, unit, {}, &UnitRun::first) - 1;
    for (; unit < end; ++run) {
      const std::int64_t skipped = unit - run->first;
      const std::int64_t units = std::min(run->count - skipped, end - unit);
      const auto bytes = static_cast<std::size_t>(bytes_in(units * map_.length));
      const auto read = read_units(*run, skipped, units, out.first(bytes));
      if (!read) return read;
      out = out.subspan(bytes);
      unit += units;
    }
    return {};
  }

 private:
  [[nodiscard]] std::int64_t bytes_in(std::int64_t numbers) const {
    const auto bytes = bytes_of(dtype_, numbers);
    if (!bytes) internal_error("mapped_tensor: a part of a block");
    return *bytes;
  }

  [[nodiscard]] Result<void> read_units(const UnitRun& run, std::int64_t skipped,
                                        std::int64_t units, std::span<std::byte> out) const {
    const std::int64_t begin = run.offset + skipped * run.unit_stride;
    const bool as_it_is = run.tensor->dtype == dtype_ && run.number_stride == 1 && map_.offset == 0;
    if (as_it_is) return copy_units(run, begin, units, out);
    std::vector<float> numbers(static_cast<std::size_t>(units * map_.length));
    const bool is_transposed = run.number_stride != 1 && map_.length > 1;
    auto read = is_transposed ? read_transposed(run, begin, units, numbers)
                              : read_rows(run, begin, units, numbers);
    if (!read) return read;
    for (float& number : numbers) number += map_.offset;
    narrow(numbers, out);
    return {};
  }

  [[nodiscard]] Result<void> copy_units(const UnitRun& run, std::int64_t begin, std::int64_t units,
                                        std::span<std::byte> out) const {
    const bool is_one_stretch = run.unit_stride == map_.length || units == 1;
    const std::int64_t length = is_one_stretch ? units * map_.length : map_.length;
    const auto bytes = static_cast<std::size_t>(bytes_in(length));
    for (; !out.empty(); out = out.subspan(bytes), begin += run.unit_stride) {
      const auto from = static_cast<std::uint64_t>(bytes_in(begin));
      if (auto read = run.tensor->read_blocks(from, out.first(bytes)); !read) return read;
    }
    return {};
  }

  [[nodiscard]] Result<void> read_rows(const UnitRun& run, std::int64_t begin, std::int64_t units,
                                       std::span<float> out) const {
    if (map_.length == 1) return read_values(*run.tensor, begin, run.unit_stride, out);
    if (run.unit_stride == map_.length) return read_values(*run.tensor, begin, 1, out);
    const auto length = static_cast<std::size_t>(map_.length);
    for (std::int64_t i = 0; i < units; ++i) {
      const auto row = out.subspan(static_cast<std::size_t>(i) * length, length);
      const auto read = read_values(*run.tensor, begin + i * run.unit_stride, 1, row);
      if (!read) return read;
    }
    return {};
  }

  /// Units are interleaved: reads one number of each at a time.
  [[nodiscard]] Result<void> read_transposed(const UnitRun& run, std::int64_t begin,
                                             std::int64_t units, std::span<float> out) const {
    std::vector<float> column(static_cast<std::size_t>(units));
    for (std::int64_t i = 0; i < map_.length; ++i) {
      const auto read =
          read_values(*run.tensor, begin + i * run.number_stride, run.unit_stride, column);
      if (!read) return read;
      for (std::size_t unit = 0; unit < column.size(); ++unit) {
        out[unit * static_cast<std::size_t>(map_.length) + static_cast<std::size_t>(i)] =
            column[unit];
      }
    }
    return {};
  }

  void narrow(std::span<const float> numbers, std::span<std::byte> out) const {
    std::byte* to = out.data();
    for (const float number : numbers) {
      if (dtype_ == DType::kF32) {
        std::memcpy(to, &number, sizeof(number));
        to += sizeof(number);
        continue;
      }
      const std::uint16_t bits = dtype_ == DType::kF16 ? to_f16(number) : to_bf16(number);
      std::memcpy(to, &bits, sizeof(bits));
      to += sizeof(bits);
    }
  }

  UnitMap map_;
  DType dtype_;
  std::int64_t row_;
};

/// Returns the common type of all runs; f32 if plain types differ.
Result<DType> common_dtype(const GgufTensor& made, const UnitMap& map) {
  const CheckpointTensor& first = *map.runs.front().tensor;
  for (const UnitRun& run : map.runs) {
    const CheckpointTensor& tensor = *run.tensor;
    const bool rows_stay = run.number_stride == 1 && !tensor.input_order;
    const bool has_type = gguf_type_of(tensor.dtype).has_value();
    if (is_encoded(tensor.dtype) &&
        (!rows_stay || !has_type || made.is_f32 || tensor.dtype != first.dtype)) {
      return Error{ModelErrc::kCannotQuantize,
                   tensor.file() + ": tensor " + in_quotes(tensor.name) + ": is " +
                       std::string(to_string(tensor.dtype)) +
                       " already, which a GGUF file cannot have here; begin with the model as it "
                       "was before"};
    }
  }
  const bool alike = std::ranges::all_of(
      map.runs, [&](const UnitRun& run) { return run.tensor->dtype == first.dtype; });
  return made.is_f32 || !alike || first.dtype == DType::kF64 ? DType::kF32 : first.dtype;
}

}  // namespace

Result<CheckpointTensor> mapped_tensor(const GgufTensor& made, UnitMap map,
                                       const std::string& file) {
  const auto dtype = common_dtype(made, map);
  if (!dtype) return dtype.error();
  const std::int64_t row = made.shape.back();
  return assembled(made.name, file, *dtype, made.shape,
                   std::make_unique<UnitMaker>(std::move(map), *dtype, row));
}

}  // namespace weft
