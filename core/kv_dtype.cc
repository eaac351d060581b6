#include "weft/core/kv_dtype.h"

#include <algorithm>

namespace weft {
namespace {

const KvDType* find(DType dtype) noexcept {
  const auto* found = std::ranges::find(kKvDTypes, dtype, &KvDType::dtype);
  return found == kKvDTypes.end() ? nullptr : found;
}

}  // namespace

bool is_kv_dtype(DType dtype) noexcept { return find(dtype) != nullptr; }

bool is_coded_kv(DType dtype) noexcept { return dtype == DType::kI8 || dtype == DType::kF8_E4M3; }

std::string_view kv_dtype_name(DType dtype) noexcept {
  const KvDType* known = find(dtype);
  return known == nullptr ? to_string(dtype) : known->name;
}

std::int64_t kv_row_bytes(DType dtype, std::int64_t head_size) noexcept {
  if (!is_kv_dtype(dtype) || head_size < 1) return 0;
  const std::int64_t scale = is_coded_kv(dtype) ? std::int64_t{sizeof(float)} : 0;
  return scale + head_size * block_of(dtype).bytes;
}

}  // namespace weft
