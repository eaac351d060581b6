#include "weft/gpu/cuda/step/matrix_rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "weft/core/error/internal_error.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/tensor_values.h"

namespace weft::cuda {
namespace {

constexpr std::int64_t kScaleBytes = 2;  // bytes of a q8_0 block's scale, before its 32 numbers
// Bytes that one thread reads at a time of a tensor that is held whole.
constexpr std::int64_t kHeldGrainBytes = std::int64_t{1} << 20U;

// Returns the output of the program's matrix that a stored row holds; -1 = none.
std::int64_t output_of(const DeviceMatrix& matrix, std::int64_t row) {
  if (!matrix.gated) return row;
  const std::int64_t pair = row / (2 * kGateBlock);
  const std::int64_t in_pair = row % (2 * kGateBlock);
  const std::int64_t output = pair * kGateBlock + in_pair % kGateBlock;
  if (output >= matrix.outputs) return -1;
  return in_pair < kGateBlock ? output : matrix.outputs + output;
}

// Returns how many consecutive outputs, from a stored row's output on, are in consecutive rows.
std::int64_t outputs_in_order(const DeviceMatrix& matrix, std::int64_t row, std::int64_t output) {
  if (!matrix.gated) return matrix.outputs - output;
  return std::min(kGateBlock - row % kGateBlock, matrix.outputs - output % matrix.outputs);
}

const MatrixPart* part_of(const MatrixPlan& plan, std::int64_t output) {
  const auto found = std::ranges::find_if(plan.parts, [&](const MatrixPart& part) {
    return output >= part.first_output && output < part.first_output + part.outputs;
  });
  return found == plan.parts.end() ? nullptr : &*found;
}

void write_converted(const SourceMatrix& source, std::int64_t row, DType dtype, std::byte* out) {
  constexpr std::int64_t kAtOnce = 1024;
  std::array<float, kAtOnce> values{};
  for (std::int64_t done = 0; done < source.inputs; done += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, source.inputs - done);
    const auto some = std::span(values).first(static_cast<std::size_t>(count));
    widen_values(source.dtype, source.data, row * source.stride_output + done * source.stride_input,
                 source.stride_input, some);
    if (dtype == DType::kF32) {
      std::memcpy(out + done * 4, some.data(), some.size_bytes());
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const float value = some[static_cast<std::size_t>(i)];
      const std::uint16_t bits = dtype == DType::kF16 ? to_f16(value) : to_bf16(value);
      std::memcpy(out + (done + i) * 2, &bits, 2);
    }
  }
}

// Writes either the numbers or the scales of a row of whole blocks.
void write_blocks(const SourceMatrix& source, std::int64_t row, bool scales, std::byte* out) {
  const DTypeBlock block = block_of(DType::kQ8_0);
  const std::byte* from = source.data + row * source.stride_output / block.elements * block.bytes;
  for (std::int64_t i = 0; i < source.inputs / block.elements; ++i, from += block.bytes) {
    if (scales) {
      std::memcpy(out + i * kScaleBytes, from, kScaleBytes);
    } else {
      std::memcpy(out + i * block.elements, from + kScaleBytes,
                  static_cast<std::size_t>(block.elements));
    }
  }
}

void write_row(const SourceMatrix& source, std::int64_t row, const DeviceMatrix& matrix,
               bool scales, std::byte* out) {
  const bool alike = source.dtype == matrix.dtype && source.stride_input == 1;
  if (matrix.dtype == DType::kQ8_0) {
    if (!alike) internal_error("only q8_0 becomes q8_0");
    write_blocks(source, row, scales, out);
  } else if (alike) {
    const std::int64_t width = block_of(matrix.dtype).bytes;
    std::memcpy(out, source.data + row * source.stride_output * width,
                static_cast<std::size_t>(source.inputs * width));
  } else {
    write_converted(source, row, matrix.dtype, out);
  }
}

}  // namespace

std::int64_t row_bytes(const DeviceMatrix& matrix, bool scales) {
  if (scales) return matrix.inputs / block_of(DType::kQ8_0).elements * kScaleBytes;
  return matrix.dtype == DType::kQ8_0 ? matrix.stride
                                      : bytes_of(matrix.dtype, matrix.stride).value();
}

Result<void> read_encoded_outputs(const MatrixPlan& plan, std::int64_t first, std::int64_t count,
                                  std::span<std::byte> out) {
  const std::size_t row = out.size() / static_cast<std::size_t>(count);
  for (std::int64_t done = 0; done < count;) {
    const MatrixPart* part = part_of(plan, first + done);
    if (part == nullptr) internal_error("an output that no part has");
    const std::int64_t in_part = first + done - part->first_output;
    // Rows of a tensor in which two matrices alternate are not contiguous.
    const bool together = part->stride_output == part->inputs;
    const std::int64_t rows = together ? std::min(count - done, part->outputs - in_part) : 1;
    const auto read = part->tensor->read_blocks(
        place_of(*part, {in_part, rows, 0, part->inputs}).begin,
        out.subspan(static_cast<std::size_t>(done) * row, static_cast<std::size_t>(rows) * row));
    if (!read) return read;
    done += rows;
  }
  return {};
}

MatrixRows::MatrixRows(const MatrixPlan& plan, const DeviceMatrix& matrix)
    : plan_(plan), matrix_(matrix) {
  // Parts of one tensor (queries, keys and values) may be interleaved.
  std::map<const CheckpointTensor*, PieceBytes> places;
  for (const MatrixPart& part : plan.parts) {
    if (part.stride_input == 1) continue;
    const PieceBytes own = place_of(part, {0, part.outputs, 0, part.inputs});
    PieceBytes& all = places.try_emplace(part.tensor, own).first->second;
    all = {std::min(all.begin, own.begin), std::max(all.end, own.end)};
  }
  for (const auto& [tensor, place] : places) {
    held_[tensor] = {place.begin, std::vector<std::byte>(place.end - place.begin)};
  }
}

Result<void> MatrixRows::hold_transposed(Share share) {
  for (auto& [tensor, held] : held_) {
    const auto [begin, end] =
        share.of(static_cast<std::int64_t>(held.bytes.size()), kHeldGrainBytes);
    const auto read = tensor->read(
        held.begin + static_cast<std::uint64_t>(begin),
        std::span(held.bytes)
            .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
    if (!read) return read;
  }
  return {};
}

MatrixRows::Run MatrixRows::run_at(std::int64_t row, std::int64_t most) const {
  const std::int64_t output = output_of(matrix_, row);
  const MatrixPart* part = output < 0 ? nullptr : part_of(plan_, output);
  if (part == nullptr) return {};
  const std::int64_t in_part = output - part->first_output;
  return {part, in_part,
          std::min({most, part->outputs - in_part, outputs_in_order(matrix_, row, output)})};
}

bool MatrixRows::stands_alike(const MatrixPart& part) const {
  return part.tensor->dtype == matrix_.dtype && block_of(matrix_.dtype).elements == 1 &&
         part.stride_input == 1 && part.stride_output == part.inputs &&
         part.inputs == matrix_.stride;
}

Result<SourceMatrix> MatrixRows::source_of(const Run& run, PartReader& reader) const {
  const PartPiece piece{run.output, run.rows, 0, run.part->inputs};
  const auto held = held_.find(run.part->tensor);
  if (run.part->stride_input == 1 || held == held_.end())
    return reader.read_in_order(*run.part, piece);
  const std::uint64_t offset = place_of(*run.part, piece).begin - held->second.begin;
  return SourceMatrix{held->second.bytes.data() + offset,
                      run.part->tensor->dtype,
                      run.rows,
                      run.part->inputs,
                      run.part->stride_output,
                      run.part->stride_input};
}

Result<void> MatrixRows::write_run(const Run& run, bool scales, std::span<std::byte> out,
                                   PartReader& reader) const {
  if (stands_alike(*run.part)) {
    return run.part->tensor->read(
        place_of(*run.part, {run.output, run.rows, 0, run.part->inputs}).begin, out);
  }
  const auto source = source_of(run, reader);
  if (!source) return source.error();
  const std::int64_t bytes = row_bytes(matrix_, scales);
  for (std::int64_t i = 0; i < run.rows; ++i) {
    write_row(*source, i, matrix_, scales, out.data() + i * bytes);
  }
  return {};
}

Result<void> MatrixRows::write(std::int64_t first, std::int64_t count, bool scales,
                               std::span<std::byte> out, PartReader& reader) const {
  const std::int64_t bytes = row_bytes(matrix_, scales);
  const bool padded = !scales && matrix_.stride != matrix_.inputs;
  for (std::int64_t done = 0; done < count;) {
    Run run = run_at(first + done, count - done);
    if (run.part != nullptr && !stands_alike(*run.part))
      run.rows = std::min(run.rows, outputs_at_once(*run.part));
    const auto place = out.subspan(static_cast<std::size_t>(done * bytes),
                                   static_cast<std::size_t>(run.rows * bytes));
    // Zeros follow a row's numbers, and fill a row that belongs to no part.
    if (run.part == nullptr || padded) std::ranges::fill(place, std::byte{0});
    if (run.part != nullptr) {
      if (const auto written = write_run(run, scales, place, reader); !written) return written;
    }
    done += run.rows;
  }
  return {};
}

}  // namespace weft::cuda
