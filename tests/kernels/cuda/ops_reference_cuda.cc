#include "weft/tests/kernels/cuda/ops_reference_cuda.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "weft/kernels/encoding/encoding.h"
#include "weft/tests/kernels/attention/kv_row_reference.h"
#include "weft/tests/kernels/cuda/rows_reference_cuda.h"
#include "weft/tests/kernels/norm/norm_reference.h"
#include "weft/tests/kernels/rotary/rotary_reference.h"

namespace weft::cuda::reference {
namespace {

std::vector<double> row_of(const DeviceRows& rows, std::int64_t row, std::int64_t width) {
  std::vector<double> numbers(static_cast<std::size_t>(width));
  for (std::int64_t i = 0; i < width; ++i) numbers[static_cast<std::size_t>(i)] = at(rows, row, i);
  return numbers;
}

/// Keys or values of one token, as they stand in the row.
void write_cache(const CudaRotaryParams& params, std::byte* cache, std::int64_t row,
                 std::int64_t first) {
  const std::int32_t index = params.spans.sequence_of[row];
  if (index < 0) return;
  const DeviceSequence& sequence = params.spans.sequences[index];
  const std::int64_t place = sequence.start + (row - sequence.first);
  const DeviceKvLayer& kv = params.kv;
  const std::int64_t page = params.spans.pages[sequence.first_page + place / kv.page_tokens];
  for (std::int64_t h = 0; h < kv.kv_heads; ++h) {
    const std::int64_t slot = (page * kv.kv_heads + h) * kv.page_tokens + place % kv.page_tokens;
    std::vector<float> numbers;
    for (std::int64_t d = 0; d < kv.head_size; ++d) {
      numbers.push_back(static_cast<float>(at(params.qkv, row, first + h * kv.head_size + d)));
    }
    const std::int64_t bytes = kv_row_bytes(kv.dtype, kv.head_size);
    write_kv_row(kv.dtype, numbers, {cache + slot * bytes, static_cast<std::size_t>(bytes)});
  }
}

double embedded(const CudaEmbeddingParams& params, TokenId token, std::int64_t column) {
  const std::int64_t id = token - params.first_row;
  if (params.table == nullptr || id < 0 || id >= params.table_rows) return 0;
  const std::int64_t width = params.table_width > 0 ? params.table_width : params.out.width;
  column += params.first_column;
  if (params.block.elements == 1) return load(params.dtype, params.table, id * width + column);
  std::vector<float> numbers(static_cast<std::size_t>(params.block.elements));
  const std::int64_t block = (id * width + column) / params.block.elements;
  decode_blocks(
      {.dtype = params.dtype, .data = params.table + block * params.block.bytes, .count = 1},
      numbers.data());
  return static_cast<double>(numbers[static_cast<std::size_t>(column % params.block.elements)]);
}

/// A token that is in a slot's sequence.
void count_token(const TokenCounts& counts, std::int64_t slot, TokenId token, bool is_output) {
  std::uint32_t& count = counts.counts[slot * counts.vocabulary + token];
  count = (count | 0x80000000U) + (is_output ? 1U : 0U);
}

}  // namespace

void norm(const CudaNormParams& params) {
  for (std::int64_t t = 0; t < params.rows; ++t) {
    auto numbers = row_of(params.in, t, params.in.width);
    test::norm_reference(params.spec, params.weight, params.bias, numbers);
    for (std::int64_t i = 0; i < params.in.width; ++i) {
      double value = numbers[static_cast<std::size_t>(i)] * params.scale;
      if (params.residual.data != nullptr) value += at(params.residual, t, i);
      put(params.out, t, i, value * params.sum_scale);
    }
  }
}

void embed(const CudaEmbeddingParams& params) {
  const std::int64_t width = params.out.width;
  for (std::int64_t t = 0; t < params.rows; ++t) {
    for (std::int64_t i = 0; i < width; ++i) {
      double value = params.spec.scale * embedded(params, params.ids[t], i);
      if (params.positions != nullptr) {
        const std::int64_t position =
            std::max(params.position_ids[t], 0) + params.spec.position_offset;
        value += params.positions[position * width + i];
      }
      const std::int64_t which = params.constant_ids == nullptr ? 0 : params.constant_ids[t];
      if (params.constant != nullptr) value += params.constant[which * width + i];
      put(params.out, t, i, value);
    }
  }
}

void rotate_and_store(const CudaRotaryParams& params) {
  const std::int64_t size = params.shape.head_size;
  const std::int64_t first_key = params.shape.heads * size;
  const std::int64_t first_value = first_key + params.shape.kv_heads * size;
  const std::int64_t width = first_value + params.shape.kv_heads * size;
  for (std::int64_t t = 0; t < params.rows; ++t) {
    auto numbers = row_of(params.qkv, t, width);
    test::rotary_reference(params, std::max(params.position_ids[t], 0), numbers);
    for (std::int64_t i = 0; i < width; ++i) {
      put(params.qkv, t, i, numbers[static_cast<std::size_t>(i)]);
    }
    if (params.kv.keys == nullptr) continue;
    write_cache(params, params.kv.keys, t, first_key);
    write_cache(params, params.kv.values, t, first_value);
  }
}

void scale_rows(const CudaScaleRowsParams& params) {
  const std::int64_t run = params.out.width / params.scales.width;
  for (std::int64_t t = 0; t < params.rows; ++t) {
    for (std::int64_t i = 0; i < params.out.width; ++i) {
      double value = at(params.scales, t, i / run) * at(params.in, t, i);
      if (params.residual.data != nullptr) value += at(params.residual, t, i);
      put(params.out, t, i, value);
    }
  }
}

void write_tables(const CudaTableParams& params) {
  // A GPU does them in no order; the last first is what shows who counts on one.
  for (std::int32_t w = params.write_count - 1; w >= 0; --w) {
    const TableWrite& write = params.writes[w];
    std::copy_n(params.pages + write.first_page, write.count,
                params.tables + write.table + write.first);
  }
}

void copy_pages(const CudaPageCopyParams& params) {
  for (std::int32_t b = 0; b < params.block_count; ++b) {
    const PageBlocks& blocks = params.blocks[b];
    const auto place_of = [&](std::int32_t page) {
      return page < params.pages ? blocks.data + page * blocks.bytes
                                 : blocks.host + (page - params.pages) * blocks.bytes;
    };
    for (std::int32_t c = 0; c < params.copy_count; ++c) {
      std::memcpy(place_of(params.copies[c].to), place_of(params.copies[c].from),
                  static_cast<std::size_t>(blocks.bytes));
    }
  }
}

void resolve_tokens(const CudaResolveParams& params) {
  for (std::int64_t t = 0; t < params.rows; ++t) {
    params.ids[t] = 0;
    const std::int32_t slot = params.slot_of[t];
    if (slot < 0) continue;
    const TokenId wanted = params.wanted[t];
    const TokenId token = wanted >= 0 ? wanted : params.last_tokens[-1 - std::int64_t{wanted}];
    if (token < 0) continue;
    params.ids[t] = token;
    if (params.counts.counts != nullptr && params.settings[slot].counts) {
      count_token(params.counts, slot, token, params.is_output[t] != 0);
    }
  }
}

void start_counts(const CudaCountParams& params) {
  const std::int64_t vocabulary = params.counts.vocabulary;
  std::fill_n(params.counts.counts + params.slot * vocabulary, vocabulary, 0U);
  for (std::int32_t i = 0; i < params.token_count; ++i) {
    count_token(params.counts, params.slot, params.tokens[i], i >= params.prompt_tokens);
  }
}

}  // namespace weft::cuda::reference
