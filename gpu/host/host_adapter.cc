#include "weft/gpu/host/host_adapter.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "weft/core/mailbox/cache_line.h"
#include "weft/gpu/adapter_pairs.h"
#include "weft/kernels/simd/narrow_float.h"

namespace weft {
namespace {

/// Where the numbers of a site's pair are written.
struct PairPlace {
  std::int64_t rows = 0;  ///< rows of A, filled up
  std::int64_t row = 0;   ///< numbers from one row of A to the next
  std::int64_t a = 0;     ///< numbers of A
  std::int64_t b = 0;
  std::size_t width = 0;  ///< bytes of a number

  PairPlace(const AdapterTarget& target, const AdapterSite& site, DType dtype)
      : rows((target.rank + kAdapterRankBlock - 1) / kAdapterRankBlock * kAdapterRankBlock),
        row(adapter_row(site.inputs)),
        a(rows * row),
        b(site.panels * target.rank * kAdapterPanel),
        width(dtype == DType::kBF16 ? 2 : 4) {}

  [[nodiscard]] std::size_t a_bytes() const { return in_lines(a); }
  [[nodiscard]] std::size_t bytes() const { return in_lines(a) + in_lines(b); }

 private:
  [[nodiscard]] std::size_t in_lines(std::int64_t numbers) const {
    const std::size_t size = static_cast<std::size_t>(numbers) * width;
    return (size + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  }
};

DType type_of(const Program& program, const AdapterSite& site) {
  const MatrixPlan& matrix = program.matrices[static_cast<std::size_t>(site.weight)];
  return matrix.runs.empty() && matrix.dtype == DType::kF32 ? DType::kF32 : DType::kBF16;
}

void put(std::byte* to, DType dtype, std::int64_t at, float value) {
  if (dtype == DType::kF32) {
    std::memcpy(to + at * 4, &value, 4);
  } else {
    const std::uint16_t narrow = to_bf16(value);
    std::memcpy(to + at * 2, &narrow, 2);
  }
}

void put_a(const AdapterTarget& target, const AdapterSite& site, DType dtype, std::byte* to) {
  const std::int64_t row = adapter_row(site.inputs);
  for (std::int64_t r = 0; r < target.rank; ++r) {
    const float* const from = target.a.data() + r * target.inputs + site.first_input;
    for (std::int64_t k = 0; k < site.inputs; ++k) put(to, dtype, r * row + k, from[k]);
  }
}

void put_b(const AdapterTarget& target, const AdapterRun& run, DType dtype, std::byte* to) {
  for (std::int64_t output = 0; output < run.outputs; ++output) {
    const float* const from =
        target.b.data() + (run.first_row + output * run.row_step) * target.rank;
    const std::int64_t panel = run.first_panel + output / kAdapterPanel;
    for (std::int64_t r = 0; r < target.rank; ++r) {
      const std::int64_t at = (panel * target.rank + r) * kAdapterPanel + output % kAdapterPanel;
      put(to, dtype, at, from[r]);
    }
  }
}

}  // namespace

Result<std::shared_ptr<const HostAdapter>> HostAdapter::make(const Adapter& adapter,
                                                             const Program& adapted) {
  const auto targets = pairs_at_sites(adapter, adapted);
  if (!targets) return targets.error();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < targets->size(); ++i) {
    const AdapterSite& site = adapted.adapter_sites[i];
    if ((*targets)[i] == nullptr) continue;
    bytes += PairPlace(*(*targets)[i], site, type_of(adapted, site)).bytes();
  }
  auto memory = HostMemory::allocate(bytes);
  if (!memory) return memory.error();
  std::shared_ptr<HostAdapter> made(new HostAdapter(adapted.part));
  made->memory_ = std::move(*memory);
  made->pairs_.resize(targets->size());
  std::byte* next = made->memory_.bytes().data();
  std::vector<std::byte*> places(targets->size());
  for (std::size_t i = 0; i < targets->size(); ++i) {
    const AdapterTarget* const target = (*targets)[i];
    if (target == nullptr) continue;
    const AdapterSite& site = adapted.adapter_sites[i];
    const DType dtype = type_of(adapted, site);
    const PairPlace place(*target, site, dtype);
    put_a(*target, site, dtype, next);
    places[i] = next + place.a_bytes();
    made->pairs_[i] = {next, places[i], dtype, static_cast<std::int32_t>(target->rank),
                       target->scale};
    next += place.bytes();
  }
  for (const AdapterRun& run : adapted.adapter_runs) {
    const auto site = static_cast<std::size_t>(run.site);
    if (places[site] == nullptr) continue;
    put_b(*(*targets)[site], run, made->pairs_[site].dtype, places[site]);
  }
  return made;
}

}  // namespace weft
