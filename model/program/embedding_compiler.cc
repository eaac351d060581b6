#include "weft/model/program/embedding_compiler.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "weft/model/model_error.h"
#include "weft/model/program/position_tables.h"
#include "weft/model/program/program_part.h"

namespace weft {
namespace {

// The limit of computed position tables, which are float32: 1 GiB at a width of 4096.
constexpr std::int64_t kMaxTablePositions = 65536;

}  // namespace

void EmbeddingCompiler::embed() {
  const EmbeddingBlock& block = stack_.embedding;
  EmbedOp op;
  op.table.tensor = weights_.embedding(block.tensor, model_.vocabulary, block.size);
  const auto rows = share_of(model_.vocabulary, 1, program_.part);
  op.table.rows = rows.value_or(Extent{0, model_.vocabulary});
  const bool is_part = program_.part.ranks > 1 && rows;
  op.spec = block.spec;
  types(op, block);
  const bool projects = !block.projection.tensor.empty();
  const bool apart = projects || block.token_norm.present;
  op.out = apart ? out_.buffer("e", block.size) : out_.stream();
  out_.mark_part(op.out, is_part);
  positions(op);
  if (is_part && !out_.is_first_rank()) {
    // Only the first rank adds the constant. It alone adds positions too, unless tokens are
    // embedded separately.
    op.constant = kAbsent;
    if (!apart) op.positions = kAbsent;
  }
  if (apart) {
    embed_apart(op, block, projects);
  } else {
    out_.emit(op);
  }
  out_.norm_stream(out_.of_stack("embedding.norm"), block.norm);
}

BufferId EmbeddingCompiler::embed_for_layers() {
  const bool wants = std::ranges::any_of(
      stack_.layers, [](const LayerBlock& layer) { return layer.input.size > 0; });
  if (!wants) return {};
  const EmbeddingBlock& block = stack_.embedding;
  const bool is_table = block.projection.tensor.empty() && !block.token_norm.present &&
                        !block.norm.present && block.types.empty() &&
                        block.positions.kind == PositionKind::kNone;
  if (!is_table) {
    weights_.refuse({ModelErrc::kBadSpec, "layer_input needs an embedding that is a table alone"});
  }
  EmbedOp op;
  op.table.tensor = weights_.embedding(block.tensor, model_.vocabulary, block.size);
  const auto rows = share_of(model_.vocabulary, 1, program_.part);
  op.table.rows = rows.value_or(Extent{0, model_.vocabulary});
  op.spec = block.spec;
  op.out = out_.buffer("embedded", model_.hidden);
  out_.mark_part(op.out, program_.part.ranks > 1 && rows);
  out_.emit(op);
  return op.out;
}

// Positions are as wide as the stream and have no norm of their own. They are added to the token's
// row after its projection or norm.
void EmbeddingCompiler::embed_apart(EmbedOp op, const EmbeddingBlock& block, bool projects) {
  EmbedOp placed = op;
  placed.table = {};
  placed.constant = kAbsent;
  placed.out = out_.stream();
  op.positions = kAbsent;
  out_.emit(op);
  BufferId residual;
  if (placed.positions != kAbsent) {
    out_.emit(placed);
    residual = placed.out;
    out_.continue_stream(out_.next(residual));
  }
  const std::string token_norm = out_.of_stack("embedding.token_norm");
  if (!projects) {
    out_.norm(token_norm, block.token_norm, block.size, op.out, out_.stream(), residual);
    return;
  }
  const BufferId token = out_.normed(token_norm, block.token_norm, block.size, op.out);
  LinearOp project =
      StackWriter::plain(weights_.linear(out_.of_stack("embedding.projection"), block.projection,
                                         model_.hidden, block.size),
                         token, out_.stream());
  project.residual = residual;
  out_.emit(project);
}

// A request's first text has type 0 and its second type 1; further types are not used.
void EmbeddingCompiler::types(EmbedOp& op, const EmbeddingBlock& block) {
  if (block.types.empty()) return;
  std::int64_t rows = 0;
  op.constant =
      weights_.table(out_.of_stack("embedding.types"), block.types, block.size, false, &rows);
  op.constant_rows = std::max<std::int64_t>(rows, 1);
}

void EmbeddingCompiler::positions(EmbedOp& op) {
  const PositionBlock& block = stack_.embedding.positions;
  const std::int64_t offset = op.spec.position_offset;
  const std::string table = out_.of_stack("embedding.positions");
  if (block.kind == PositionKind::kLearned) {
    std::int64_t rows = 0;
    op.positions = weights_.table(table, block.tensor, model_.hidden, false, &rows);
    if (op.positions != kAbsent && rows <= offset) {
      weights_.refuse({ModelErrc::kBadTensor, block.tensor.front() + ": of its " +
                                                  std::to_string(rows) + " rows " +
                                                  "embedding.positions.offset leaves none"});
    }
    program_.context = std::min(program_.context, rows - offset);
  } else if (block.kind == PositionKind::kSinusoidal) {
    program_.context = std::min(program_.context, kMaxTablePositions);
    op.positions = weights_.computed(
        table, sinusoidal_positions(program_.context + offset, model_.hidden, block.endpoint));
  }
}

}  // namespace weft
