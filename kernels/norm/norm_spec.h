#pragma once

#include <cstdint>

namespace weft {

enum class NormKind : std::uint8_t {
  kRms,    ///< x / sqrt(mean(x^2) + eps) (Zhang and Sennrich, arXiv 1910.07467)
  kLayer,  ///< (x - mean) / sqrt(var + eps) (Ba et al., arXiv 1607.06450)
};

/// The attributes of a norm of rows or of heads. The spec reader, the program, the host and the
/// devices share this struct.
struct NormSpec {
  NormKind kind = NormKind::kRms;
  float weight_offset = 0;  ///< 1 in families that store weights around zero (Gemma)
  float eps = 0;
  friend bool operator==(const NormSpec&, const NormSpec&) = default;
};

}  // namespace weft
