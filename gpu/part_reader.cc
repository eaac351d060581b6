#include "weft/gpu/part_reader.h"

#include <algorithm>
#include <span>

#include "weft/model/checkpoint/checkpoint.h"

namespace weft {
namespace {

// What a thread reads stays in its second-level cache until it is packed, and a system call is
// nothing beside it.
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20U;

// As many steps of `bytes` as a piece has room for, in whole multiples of `grain`.
std::int64_t at_once(std::int64_t bytes, std::int64_t grain) {
  return std::max<std::int64_t>(kPieceBytes / std::max<std::int64_t>(bytes, 1) / grain, 1) * grain;
}

}  // namespace

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
  return at_once(part.stride_output / block.elements * block.bytes, PackedLayout::kPanelOutputs);
}

std::int64_t inputs_at_once(const MatrixPart& part) {
  return at_once(part.stride_input * block_of(part.tensor->dtype).bytes, PackedLayout::kBlock);
}

Result<SourceMatrix> PartReader::read(const MatrixPart& part, const PartPiece& piece) {
  const PieceBytes place = place_of(part, piece);
  const std::uint64_t count = place.end - place.begin;
  if (buffer_.size() < count) buffer_.resize(count);
  const auto read = part.tensor->read_blocks(place.begin, std::span(buffer_).first(count));
  if (!read) return read.error();
  return SourceMatrix{buffer_.data(), part.tensor->dtype, piece.outputs,
                      piece.inputs,   part.stride_output, part.stride_input};
}

}  // namespace weft
