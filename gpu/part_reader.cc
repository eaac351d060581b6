#include "weft/gpu/part_reader.h"

#include <algorithm>
#include <span>

#include "weft/core/error/internal_error.h"
#include "weft/gpu/load_progress.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/tensor_values.h"

namespace weft {
namespace {

// Returns how many steps of `bytes` a piece has room for, as a multiple of `grain`.
std::int64_t at_once(const MatrixPart& part, std::int64_t bytes, std::int64_t grain) {
  const std::int64_t piece = part.tensor->piece_bytes;
  return std::max<std::int64_t>(piece / std::max<std::int64_t>(bytes, 1) / grain, 1) * grain;
}

}  // namespace

Extent bytes_of_rows(const CheckpointTensor& table, const Extent& rows) {
  const std::int64_t row = *bytes_of(table.dtype, table.shape.back());
  return {rows.first * row, rows.count * row};
}

PieceBytes place_of(const MatrixPart& part, const PartPiece& piece) {
  const DTypeBlock block = block_of(part.tensor->dtype);
  const std::int64_t first =
      part.offset + piece.output * part.stride_output + piece.input * part.stride_input;
  const std::int64_t last =
      first + (piece.outputs - 1) * part.stride_output + (piece.inputs - 1) * part.stride_input;
  return {static_cast<std::uint64_t>(first / block.elements * block.bytes),
          static_cast<std::uint64_t>((last / block.elements + 1) * block.bytes)};
}

std::int64_t outputs_at_once(const MatrixPart& part) {
  const DTypeBlock block = block_of(part.tensor->dtype);
  return at_once(part, part.stride_output / block.elements * block.bytes,
                 PackedLayout::kPanelOutputs);
}

std::int64_t inputs_at_once(const MatrixPart& part) {
  return at_once(part, part.stride_input * block_of(part.tensor->dtype).bytes,
                 PackedLayout::kBlock);
}

void PartReader::begin_piece() {
  if (pace_) {
    let_others_run(*pace_, stop_);
  } else if (gives_way_) {
    pace_.emplace(use_of_this_thread());
  }
  throw_if_stopped(stop_);
}

Result<SourceMatrix> PartReader::read(const MatrixPart& part, const PartPiece& piece) {
  begin_piece();
  const PieceBytes place = place_of(part, piece);
  const std::uint64_t count = place.end - place.begin;
  if (buffer_.size() < count) buffer_.resize(count);
  const auto read = part.tensor->read_blocks(place.begin, std::span(buffer_).first(count));
  if (!read) return read.error();
  return SourceMatrix{buffer_.data(), part.tensor->dtype, piece.outputs,
                      piece.inputs,   part.stride_output, part.stride_input};
}

Result<SourceMatrix> PartReader::read_in_order(const MatrixPart& part, const PartPiece& piece) {
  auto source = read(part, piece);
  const auto& order = part.tensor->input_order;
  if (!source || order == nullptr) return source;
  const auto inputs = static_cast<std::size_t>(part.inputs);
  if (piece.inputs != part.inputs || order->size() != inputs) {
    internal_error("rows in another order that are not whole");
  }
  row_.resize(inputs);
  ordered_.resize(static_cast<std::size_t>(piece.outputs) * inputs);
  for (std::int64_t i = 0; i < piece.outputs; ++i) {
    widen_values(source->dtype, source->data, i * source->stride_output, 1, row_);
    float* to = ordered_.data() + static_cast<std::size_t>(i) * inputs;
    for (std::size_t j = 0; j < inputs; ++j) to[(*order)[j]] = row_[j];
  }
  return SourceMatrix{reinterpret_cast<const std::byte*>(ordered_.data()),
                      DType::kF32,
                      piece.outputs,
                      piece.inputs,
                      piece.inputs,
                      1};
}

}  // namespace weft
