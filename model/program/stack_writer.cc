#include "weft/model/program/stack_writer.h"

namespace weft {

BufferId StackWriter::buffer(std::string_view name, std::int64_t width, RowKind rows,
                             std::int64_t rows_per_token) {
  program_.buffers.push_back({of_stack(name), rows, width, rows_per_token, 0});
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

void StackWriter::norm(const std::string& name, const NormBlock& block, std::int64_t width,
                       BufferId in, BufferId out, BufferId residual, float scale, float sum_scale) {
  if (!block.present) return;
  NormOp op;
  op.spec = block.spec;
  op.weight = weights_.vector(name + ".weight", block.tensor, ".weight", width, false);
  op.bias = weights_.vector(name + ".bias", block.tensor, ".bias", width, !block.has_bias);
  op.scale = scale;
  op.sum_scale = sum_scale;
  op.in = in;
  op.residual = residual;
  op.out = out;
  emit(op);
}

LinearOp StackWriter::plain(const WeightPlanner::Linear& weight, BufferId in, BufferId out) {
  LinearOp op;
  op.weight = weight.weight;
  op.bias = weight.bias;
  op.in = in;
  op.out = out;
  return op;
}

void StackWriter::receive() {
  begin_stream();
  emit(ReceiveOp{stream_});
}

BufferId StackWriter::entry(std::string_view name, const ResidualBlock& block) {
  if (!block.norm_in.present) return stream_;
  const BufferId normed = buffer("h", model_.hidden);
  norm(of_layer(name) + ".norm_in", block.norm_in, model_.hidden, stream_, normed);
  return normed;
}

SublayerExit StackWriter::exit(const ResidualBlock& block, BufferId input, bool is_part,
                               PartSums sums) {
  if (block.norm_out.present) return {buffer("o", model_.hidden), kAbsent, 1, is_part, sums};
  SublayerExit exit{stream_, block.adds_normed_input ? input : stream_, block.scale, is_part, sums};
  // Where the stream is each rank's own part, each rank adds to its own.
  if (is_part && !is_first_rank() && sums != PartSums::kOfBoth) exit.residual = kAbsent;
  return exit;
}

void StackWriter::leave(std::string_view name, const ResidualBlock& block, const SublayerExit& exit,
                        BufferId input) {
  if (exit.is_part && exit.sums != PartSums::kWithNext) sum_up(exit.out);
  if (block.norm_out.present) {
    norm(of_layer(name) + ".norm_out", block.norm_out, model_.hidden, exit.out, stream_,
         block.adds_normed_input ? input : stream_, block.scale, block.sum_scale);
  }
  norm(of_layer(name) + ".norm_sum", block.norm_sum, model_.hidden, stream_, stream_);
}

}  // namespace weft
