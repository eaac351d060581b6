#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/kernels/rotary/rotary_spec.h"
#include "weft/tests/kernels/norm/norm_reference.h"

/// The op between the QKV projection and attention in float64, for the host and for CUDA.
namespace weft::test {

inline double clipped(double number, double limit) {
  // NaN is neither below nor above and stays.
  if (!(limit > 0)) return number;
  return number < -limit ? -limit : (number > limit ? limit : number);
}

/// `heads` are whole heads of `size` numbers.
inline void norm_heads_reference(const HeadNorm& norm, std::size_t size, std::span<double> heads) {
  if (!norm.spec.enabled) return;
  const HeadNormScope scope = norm.spec.scope;
  const std::size_t together = scope == HeadNormScope::kAllHeads ? heads.size() : size;
  for (std::size_t begin = 0; begin < heads.size(); begin += together) {
    const std::size_t own = scope == HeadNormScope::kPerHead ? 0 : begin;
    norm_reference(norm.spec.norm, norm.weight == nullptr ? nullptr : norm.weight + own,
                   norm.bias == nullptr ? nullptr : norm.bias + own,
                   heads.subspan(begin, together));
  }
}

/// Turns each head by the `cosines` and `sines` of its position, one of each for a pair.
inline void turn_heads_reference(const RotarySpec& spec, std::size_t size, const float* cosines,
                                 const float* sines, std::span<double> heads) {
  const auto pairs = static_cast<std::size_t>(spec.rotary_size / 2);
  const bool halves = spec.style == RotaryStyle::kHalves;
  for (std::size_t head = 0; head < heads.size(); head += size) {
    for (std::size_t i = 0; i < pairs; ++i) {
      double& a = heads[head + (halves ? i : 2 * i)];
      double& b = heads[head + (halves ? i + pairs : 2 * i + 1)];
      const double turned = a * cosines[i] - b * sines[i];
      b = b * cosines[i] + a * sines[i];
      a = turned;
    }
  }
}

inline void grow_reference(const RotarySpec& spec, std::int64_t position,
                           std::span<double> queries) {
  if (spec.query_growth_step == 0) return;
  const double steps = std::floor(static_cast<double>(position) / spec.query_growth_step);
  for (double& number : queries) number *= 1 + spec.query_growth * std::log(1 + steps);
}

/// Transforms `row`, a token's queries, keys and values. `params` are RotaryParams or
/// CudaRotaryParams with pointers to host memory; `position` is the token's row of their tables.
template <class Params>
void rotary_reference(const Params& params, std::int64_t position, std::span<double> row) {
  const auto size = static_cast<std::size_t>(params.shape.head_size);
  const auto queries = row.first(static_cast<std::size_t>(params.shape.heads) * size);
  const auto keys =
      row.subspan(queries.size(), static_cast<std::size_t>(params.shape.kv_heads) * size);
  for (double& number : row) number = clipped(number, params.spec.clip);
  const auto norms = [&] {
    norm_heads_reference(params.query_norm, size, queries);
    norm_heads_reference(params.key_norm, size, keys);
  };
  if (!params.spec.norm_after_rotary) norms();
  const std::int64_t first = position * (params.spec.rotary_size / 2);
  turn_heads_reference(params.spec, size, params.cosines + first, params.sines + first,
                       row.first(queries.size() + keys.size()));
  if (params.spec.norm_after_rotary) norms();
  grow_reference(params.spec, position, queries);
  norm_heads_reference(params.value_norm, size, row.subspan(queries.size() + keys.size()));
}

}  // namespace weft::test
