#include "weft/kernels/embedding/embedding.h"

#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/require.h"

namespace weft {
namespace {

void check_columns(const EmbeddingParams& params) {
  const std::int64_t table = params.table_width;
  if (table == 0) return require(params.first_column == 0, "embed: columns of no table");
  require(params.packed == nullptr && bytes_of(params.dtype, table).has_value() &&
              params.first_column >= 0 && params.out.width <= table - params.first_column &&
              params.first_column % block_of(params.dtype).elements == 0,
          "embed: columns outside the table");
}

void check_embedding(const EmbeddingParams& params) {
  const auto tokens = static_cast<std::int64_t>(params.ids.size());
  const std::int64_t width = params.out.width;
  const std::int64_t rows = params.rows < 0 ? params.vocabulary : params.rows;
  require(params.dtype == DType::kF32 || params.dtype == DType::kF16 ||
              params.dtype == DType::kBF16 || is_encoded(params.dtype),
          "embed: a table of this type");
  require(width >= 1 && bytes_of(params.dtype, width).has_value(), "embed: the width of the table");
  check_columns(params);
  require(params.packed == nullptr ||
              (params.table == nullptr && params.packed->dtype() == params.dtype &&
               !params.packed->gated() && !params.packed->is_mixed() &&
               params.packed->outputs() == rows && params.packed->inputs() == width),
          "embed: the weight is no table of this shape");
  require(params.first_row >= 0 && rows >= 0 && rows <= params.vocabulary - params.first_row,
          "embed: rows outside the vocabulary");
  require(holds_rows(params.out, tokens, width), "embed: out does not fit ids");
  require(params.positions == nullptr || params.position_ids.size() == params.ids.size(),
          "embed: position_ids do not fit ids");
  require(params.constant_ids.empty() || params.constant_ids.size() == params.ids.size(),
          "embed: constant_ids do not fit ids");
}

void check_token(const EmbeddingParams& params, std::size_t token) {
  const TokenId id = params.ids[token];
  require(id >= 0 && id < params.vocabulary, "embed: an id outside the table");
  if (!params.constant_ids.empty()) {
    const std::int32_t row = params.constant_ids[token];
    require(row >= 0 && row < params.constant_count, "embed: a constant outside its table");
  }
  if (params.positions == nullptr) return;
  const std::int64_t position = params.position_ids[token] + params.spec.position_offset;
  require(position >= 0 && position < params.position_count, "embed: a position outside its table");
}

}  // namespace

void embed(const EmbeddingParams& params, Share share) {
  check_embedding(params);
  const Share::Range tokens = share.of(static_cast<std::int64_t>(params.ids.size()));
  for (std::int64_t t = tokens.begin; t < tokens.end; ++t) {
    check_token(params, static_cast<std::size_t>(t));
  }
  cpu::embed(params, tokens);
}

}  // namespace weft
