#include "weft/kernels/rotary/rotary.h"

#include "weft/core/kv_dtype.h"
#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/require.h"

namespace weft {
namespace {

void check_spans(const RotaryParams& params) {
  const KvLayer& kv = params.kv;
  require(kv.values != nullptr && kv.page_tokens >= 1 && kv.kv_heads == params.shape.kv_heads &&
              kv.head_size == params.shape.head_size,
          "rotate_and_store: the cache does not fit the heads");
  require(is_kv_dtype(kv.dtype), "rotate_and_store: a cache of this type");
  for (const SequenceSpan& span : params.spans) {
    const auto room = static_cast<std::int64_t>(span.pages.size()) * kv.page_tokens;
    require(span.first >= 0 && span.count >= 0 && span.start >= 0 &&
                std::int64_t{span.first} + span.count <= params.qkv.count &&
                std::int64_t{span.start} + span.count <= room,
            "rotate_and_store: a span outside its rows or pages");
  }
}

void check_rotary(const RotaryParams& params) {
  require(params.shape.heads >= 0 && params.shape.kv_heads >= 0 && params.shape.head_size >= 1,
          "rotate_and_store: heads");
  const std::int64_t width =
      (std::int64_t{params.shape.heads} + 2 * std::int64_t{params.shape.kv_heads}) *
      params.shape.head_size;
  require(holds_rows(params.qkv, params.qkv.count, width),
          "rotate_and_store: qkv does not fit the heads");
  if (params.kv.keys != nullptr && params.shape.kv_heads > 0) check_spans(params);
  const bool placed = static_cast<std::int64_t>(params.position_ids.size()) >= params.qkv.count;
  require(params.spec.query_growth_step >= 0 && (params.spec.query_growth_step == 0 || placed),
          "rotate_and_store: query_growth_step");
  if (params.spec.rotary_size == 0) return;
  require(params.spec.rotary_size > 0 && params.spec.rotary_size % 2 == 0 &&
              params.spec.rotary_size <= params.shape.head_size,
          "rotate_and_store: rotary_size");
  require(params.cosines != nullptr && params.sines != nullptr && placed,
          "rotate_and_store: no positions to turn by");
}

}  // namespace

void rotate_and_store(const RotaryParams& params, Share share) {
  check_rotary(params);
  cpu::rotate_and_store(params, share);
}

}  // namespace weft
