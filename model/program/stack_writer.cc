#include "weft/model/program/stack_writer.h"

#include <cstddef>

namespace weft {

BufferId StackWriter::buffer(std::string_view name, std::int64_t width, RowKind rows,
                             std::int64_t rows_per_token) {
  program_.buffers.push_back({of_stack(name), rows, width, rows_per_token, 0});
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

BufferId StackWriter::next(BufferId value) {
  BufferPlan plan = program_.buffers[static_cast<std::size_t>(value)];
  plan.is_part = false;
  program_.buffers.push_back(std::move(plan));
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

void StackWriter::mark_part(BufferId value, bool is_part) {
  program_.buffers[static_cast<std::size_t>(value)].is_part = is_part;
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

BufferId StackWriter::normed(const std::string& name, const NormBlock& block, std::int64_t width,
                             BufferId in) {
  if (!block.present) return in;
  const BufferId out = next(in);
  norm(name, block, width, in, out);
  return out;
}

void StackWriter::norm_stream(const std::string& name, const NormBlock& block) {
  stream_ = normed(name, block, model_.hidden, stream_);
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

SublayerExit StackWriter::exit(const ResidualBlock& block, BufferId input, bool is_part) {
  SublayerExit exit;
  exit.is_part = is_part;
  if (block.norm_out.present) {
    exit.out = buffer("o", model_.hidden);
  } else {
    exit.out = next(stream_);
    exit.residual = block.adds_normed_input ? input : stream_;
    exit.scale = block.scale;
  }
  mark_part(exit.out, is_part);
  return exit;
}

void StackWriter::leave(std::string_view name, const ResidualBlock& block, const SublayerExit& exit,
                        BufferId input) {
  if (block.norm_out.present) {
    const BufferId out = next(stream_);
    norm(of_layer(name) + ".norm_out", block.norm_out, model_.hidden, exit.out, out,
         block.adds_normed_input ? input : stream_, block.scale, block.sum_scale);
    stream_ = out;
  } else {
    stream_ = exit.out;
  }
  norm_stream(of_layer(name) + ".norm_sum", block.norm_sum);
}

}  // namespace weft
