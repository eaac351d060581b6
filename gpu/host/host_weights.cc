#include "weft/gpu/host/host_weights.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "weft/gpu/host/thread_team.h"
#include "weft/gpu/part_reader.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/operands.h"

namespace weft {
namespace {

// Outputs that one thread packs at a time: whole panels, so that threads write to different cache
// lines. For a transposed tensor threads divide the inputs, whose bytes are contiguous in the file.
constexpr std::int64_t kGrain = 256;
constexpr std::int64_t kInputGrain = PackedLayout::kBlock;
// Bytes of a table that one thread copies at a time, rounded down to whole blocks.
constexpr std::int64_t kGrainBytes = std::int64_t{1} << 20U;

Result<void> fill_outputs(PackedWeight& weight, const MatrixPart& part, Share share,
                          PartReader& reader) {
  const auto read =
      weight.input_order() == nullptr ? &PartReader::read_in_order : &PartReader::read;
  const auto [begin, end] = share.of(part.outputs, kGrain);
  const std::int64_t most = outputs_at_once(part);
  for (std::int64_t output = begin; output < end; output += most) {
    const auto source =
        (reader.*read)(part, {output, std::min(most, end - output), 0, part.inputs});
    if (!source) return source.error();
    weight.fill(part.first_output + output, *source);
  }
  return {};
}

Result<void> fill_inputs(PackedWeight& weight, const MatrixPart& part, Share share,
                         PartReader& reader) {
  const auto [begin, end] = share.of(part.inputs, kInputGrain);
  const std::int64_t most = inputs_at_once(part);
  for (std::int64_t input = begin; input < end; input += most) {
    const auto source = reader.read(part, {0, part.outputs, input, std::min(most, end - input)});
    if (!source) return source.error();
    weight.fill(part.first_output, *source, input);
  }
  return {};
}

Result<void> fill(PackedWeight& weight, const MatrixPlan& plan, Share share, PartReader& reader) {
  for (const MatrixPart& part : plan.parts) {
    const auto fill_part = part.stride_input == 1 ? fill_outputs : fill_inputs;
    if (const auto filled = fill_part(weight, part, share, reader); !filled) return filled;
  }
  return {};
}

Result<PackedWeight> pack(const MatrixPlan& plan, ThreadTeam& team,
                          std::vector<PartReader>& readers) {
  auto matrix = plan.runs.empty()
                    ? PackedWeight::allocate(plan.dtype, plan.outputs, plan.inputs, plan.gated)
                    : PackedWeight::allocate(plan.runs, plan.outputs, plan.inputs, plan.gated);
  if (!matrix) return matrix.error();
  if (plan.input_order != nullptr) matrix->set_input_order(plan.input_order);
  const auto filled = team.try_run([&](Share share) {
    return fill(*matrix, plan, share, readers[static_cast<std::size_t>(share.thread)]);
  });
  if (!filled) return filled.error();
  return matrix;
}

/// The rows of a table that are here, and whether ops read whole rows.
struct TablePart {
  Extent rows;
  bool whole_rows = true;
};
using Tables = std::map<const CheckpointTensor*, TablePart>;

Tables tables_of(const Program& program) {
  Tables tables;
  const auto find = [&](const auto& op) {
    for_each_table(op, [&](const TableRows& table) {
      TablePart& part = tables[table.tensor];
      part.rows = table.rows;
      const BufferPlan& out = program.buffers[static_cast<std::size_t>(row_buffer(op))];
      if (out.width != table.tensor->shape.back()) part.whole_rows = false;
    });
  };
  for (const OpList* list : {&program.encode, &program.decode}) {
    for (const Op& op : list->ops) std::visit(find, op);
  }
  return tables;
}

// Returns whether the matrix holds the table's rows bit for bit, row for row.
bool holds(const MatrixPlan& matrix, const CheckpointTensor& table, const Extent& rows) {
  if (matrix.gated || matrix.parts.size() != 1 || matrix.dtype != table.dtype) return false;
  const MatrixPart& part = matrix.parts.front();
  return part.tensor == &table && part.offset == rows.first * matrix.inputs &&
         part.first_output == 0 && part.stride_input == 1 && part.stride_output == matrix.inputs &&
         part.inputs == matrix.inputs && part.outputs == matrix.outputs &&
         matrix.outputs == rows.count && table.shape.size() == 2 &&
         table.shape.back() == matrix.inputs;
}

MatrixId matrix_of(const Program& program, const CheckpointTensor& table, const TablePart& part) {
  if (!part.whole_rows) return kAbsent;
  const auto found = std::ranges::find_if(
      program.matrices, [&](const MatrixPlan& matrix) { return holds(matrix, table, part.rows); });
  if (found == program.matrices.end()) return kAbsent;
  return static_cast<MatrixId>(found - program.matrices.begin());
}

Result<HostMemory> copy(const CheckpointTensor& table, const Extent& rows, ThreadTeam& team,
                        std::vector<PartReader>& readers) {
  const Extent place = bytes_of_rows(table, rows);
  auto memory = HostMemory::allocate(static_cast<std::size_t>(place.count));
  if (!memory) return memory.error();
  const auto read = team.try_run([&](Share share) -> Result<void> {
    const std::int64_t block = block_of(table.dtype).bytes;
    const std::int64_t most = kGrainBytes / block * block;
    const auto [begin, end] = share.of(place.count, most);
    for (std::int64_t at = begin; at < end; at += most) {
      readers[static_cast<std::size_t>(share.thread)].begin_piece();
      const auto count = static_cast<std::size_t>(std::min(most, end - at));
      const auto one =
          table.read_blocks(static_cast<std::uint64_t>(place.first + at),
                            memory->bytes().subspan(static_cast<std::size_t>(at), count));
      if (!one) return one;
    }
    return {};
  });
  if (!read) return read.error();
  return memory;
}

}  // namespace

std::int64_t HostWeights::bytes(const Program& program) {
  std::int64_t bytes = program.weight_bytes();
  for (const auto& [table, part] : tables_of(program)) {
    if (matrix_of(program, *table, part) == kAbsent)
      bytes += bytes_of_rows(*table, part.rows).count;
  }
  return bytes;
}

HostWeights::Table HostWeights::table(const CheckpointTensor* tensor) const {
  const HeldTable& held = tables_.at(tensor);
  if (held.matrix != kAbsent) return {&matrix(held.matrix), nullptr};
  return {nullptr, held.rows.bytes().data()};
}

Result<HostWeights> HostWeights::load(const Program& program, ThreadTeam& team,
                                      const LoadProgress& progress, LoadBeside beside) {
  HostWeights weights;
  const std::int64_t total = bytes(program);
  std::int64_t done = 0;
  const auto tell = [&](std::int64_t more) {
    done += more;
    progress(done, total);
  };
  for (const VectorPlan& plan : program.vectors) {
    auto values = vector_values(plan);
    if (!values) return values.error();
    weights.vectors_.push_back(std::move(*values));
  }
  std::vector<PartReader> readers(static_cast<std::size_t>(team.size()), PartReader(progress.stop));
  if (beside == LoadBeside::kOthers) std::ranges::for_each(readers, &PartReader::give_way);
  for (const MatrixPlan& plan : program.matrices) {
    auto matrix = pack(plan, team, readers);
    if (!matrix) return matrix.error();
    weights.matrices_.push_back(std::move(*matrix));
    tell(plan.bytes());
  }
  for (const auto& [table, part] : tables_of(program)) {
    HeldTable& held = weights.tables_[table];
    held.matrix = matrix_of(program, *table, part);
    if (held.matrix != kAbsent) continue;
    auto copied = copy(*table, part.rows, team, readers);
    if (!copied) return copied.error();
    held.rows = *std::move(copied);
    tell(bytes_of_rows(*table, part.rows).count);
  }
  tell(total - done);
  return weights;
}

}  // namespace weft
