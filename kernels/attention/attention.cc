#include "weft/kernels/attention/attention.h"

#include "weft/core/kv_dtype.h"
#include "weft/kernels/attention/attention_workspace.h"
#include "weft/kernels/cpu_ops.h"
#include "weft/kernels/require.h"

namespace weft {
namespace {

void check_layer(const AttentionParams& params) {
  const KvLayer& kv = params.kv;
  require(is_kv_dtype(kv.dtype), "attention: a cache of this type");
  require(kv.keys != nullptr && kv.values != nullptr && kv.page_tokens >= 1 && kv.head_size >= 1,
          "attention: the cache");
  require(kv.kv_heads >= 1 && params.heads >= 1 && params.heads % kv.kv_heads == 0,
          "attention: heads are no multiple of kv_heads");
  require(params.relative_bias == nullptr || params.alibi_slopes == nullptr,
          "attention: two kinds of bias");
}

void check_span(const AttentionParams& params, const SequenceSpan& span) {
  require(span.first >= 0 && span.count >= 0 && span.start >= 0 && span.context >= 0 &&
              std::int64_t{span.first} + span.count <= params.out.count,
          "attention: a span outside its rows");
  const std::int64_t context =
      params.spec.causal ? std::int64_t{span.start} + span.count : std::int64_t{span.context};
  const auto room = static_cast<std::int64_t>(span.pages.size()) * params.kv.page_tokens;
  require(context <= room, "attention: a context outside its pages");
}

}  // namespace

std::size_t attention_workspace_bytes(std::int32_t heads, std::int32_t head_size) noexcept {
  return AttentionWorkspace::bytes(heads, head_size);
}

void attention(const AttentionParams& params, Share share, std::span<std::byte> workspace) {
  check_layer(params);
  const std::int64_t width = std::int64_t{params.heads} * params.kv.head_size;
  require(holds_rows(params.out, params.out.count, width), "attention: out");
  require(holds_rows(params.queries, params.out.count, width), "attention: queries do not fit out");
  for (const SequenceSpan& span : params.spans) check_span(params, span);
  require(workspace.size() >= attention_workspace_bytes(params.heads, params.kv.head_size) &&
              reinterpret_cast<std::uintptr_t>(workspace.data()) % kAttentionAlignment == 0,
          "attention: the workspace is too small or not aligned");
  cpu::attention(params, share, workspace);
}

}  // namespace weft
