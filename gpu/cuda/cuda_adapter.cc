#include "weft/gpu/cuda/cuda_adapter.h"

#include <algorithm>
#include <new>
#include <utility>

#include "weft/gpu/adapter_pairs.h"
#include "weft/gpu/device_error.h"
#include "weft/kernels/adapter/adapter_expand.h"
#include "weft/kernels/adapter/adapter_place_cuda.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/model/program/ops.h"

namespace weft::cuda {
namespace {

constexpr std::int64_t kPlaceAligned = 256;

std::int64_t place_rounded(std::int64_t bytes) {
  return (bytes + kPlaceAligned - 1) / kPlaceAligned * kPlaceAligned;
}

std::int64_t adapter_tiles(std::int64_t rank) { return (rank + kAdapterTile - 1) / kAdapterTile; }

std::size_t place_size(std::int64_t count) { return static_cast<std::size_t>(count); }

/// Where an adapter's pairs lie in its part of the device's memory.
struct PlacePlan {
  std::vector<CudaAdapterPair> pairs;  ///< one for each site
  std::int64_t bytes = 0;
};

/// `rank_of` returns the rank of the adapter's pair for a site; 0: it has no pair.
template <class RankOf>
PlacePlan plan_place(const Program& adapted, RankOf rank_of) {
  const auto& sites = adapted.adapter_sites;
  PlacePlan plan;
  plan.bytes =
      place_rounded(std::ssize(sites) * static_cast<std::int64_t>(sizeof(CudaAdapterPair)));
  for (std::size_t i = 0; i < sites.size(); ++i) {
    CudaAdapterPair pair;
    const std::int64_t tiles = adapter_tiles(rank_of(i));
    pair.tiles = static_cast<std::int32_t>(tiles);
    pair.a = plan.bytes;
    pair.b = pair.a + place_rounded(2 * adapter_a_size(tiles, sites[i].inputs));
    plan.bytes = pair.b + place_rounded(2 * adapter_b_size(tiles, sites[i].panels));
    plan.pairs.push_back(pair);
  }
  return plan;
}

std::vector<std::uint16_t> packed_a(const AdapterTarget& target, const AdapterSite& site) {
  std::vector<std::uint16_t> packed(
      place_size(adapter_a_size(adapter_tiles(target.rank), site.inputs)));
  for (std::int64_t rank = 0; rank < target.rank; ++rank) {
    const float* row = target.a.data() + rank * target.inputs + site.first_input;
    for (std::int64_t input = 0; input < site.inputs; ++input) {
      packed[place_size(adapter_a_at(rank, input, site.inputs))] = to_bf16(row[input]);
    }
  }
  return packed;
}

void pack_b(const AdapterTarget& target, const AdapterRun& run,
            std::vector<std::uint16_t>& packed) {
  const std::int64_t tiles = adapter_tiles(target.rank);
  for (std::int64_t output = 0; output < run.outputs; ++output) {
    const float* row = target.b.data() + (run.first_row + output * run.row_step) * target.rank;
    const std::int64_t panel = run.first_panel + output / kAdapterPanel;
    for (std::int64_t rank = 0; rank < target.rank; ++rank) {
      packed[place_size(adapter_b_at(panel, output % kAdapterPanel, rank, tiles))] =
          to_bf16(row[rank]);
    }
  }
}

template <class T>
std::span<const std::byte> bytes_in(const std::vector<T>& numbers) {
  return std::as_bytes(std::span(numbers));
}

}  // namespace

std::int64_t adapter_place_bytes(const Program& adapted) {
  return plan_place(adapted, [&](std::size_t) { return adapted.adapter_rank; }).bytes;
}

const char* refuses_adapters(const Program& adapted) {
  for (const OpList* list : {&adapted.encode, &adapted.decode}) {
    for (const Op& op : list->ops) {
      const auto* expand = std::get_if<AdapterExpandOp>(&op);
      if (expand != nullptr && expand->runs.count > kMaxCudaAdapterRuns)
        return "a GPU computes no adapters where a matrix is made of more than 8 parts";
    }
  }
  return nullptr;
}

CudaAdapter::~CudaAdapter() {
  for (std::byte* const buffer : memory_) buffers_.give_back(buffer);
}

Result<void> CudaAdapter::take(std::size_t bytes) {
  bytes_ = bytes;
  for (std::size_t at = 0; at < bytes; at += kLoadBufferBytes) {
    std::byte* buffer = nullptr;
    memory_.reserve(memory_.size() + 1);
    if (buffers_.take(buffer) != Status::kSuccess) {
      return Error{DeviceErrc::kOutOfMemory,
                   "page-locked memory for an adapter of " + std::to_string(bytes) + " bytes"};
    }
    memory_.push_back(buffer);
  }
  return {};
}

void CudaAdapter::write(std::size_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t in_buffer = at % kLoadBufferBytes;
    const std::size_t count = std::min(bytes.size(), kLoadBufferBytes - in_buffer);
    std::ranges::copy(bytes.first(count), memory_[at / kLoadBufferBytes] + in_buffer);
    at += count;
    bytes = bytes.subspan(count);
  }
}

Result<std::shared_ptr<const CudaAdapter>> CudaAdapter::make(const Adapter& adapter,
                                                             const Program& adapted,
                                                             KeptBuffers& buffers) {
  if (const char* reason = refuses_adapters(adapted)) return Error{DeviceErrc::kUnfit, reason};
  const auto targets = pairs_at_sites(adapter, adapted);
  if (!targets) return targets.error();
  PlacePlan plan = plan_place(adapted, [&](std::size_t site) {
    return (*targets)[site] == nullptr ? 0 : (*targets)[site]->rank;
  });
  std::shared_ptr<CudaAdapter> made(new CudaAdapter(adapted.part, buffers));
  if (auto taken = made->take(place_size(plan.bytes)); !taken) return taken.error();
  std::vector<std::vector<std::uint16_t>> all_b(plan.pairs.size());
  for (std::size_t i = 0; i < plan.pairs.size(); ++i) {
    const AdapterTarget* target = (*targets)[i];
    if (target == nullptr) continue;
    const AdapterSite& site = adapted.adapter_sites[i];
    plan.pairs[i].scale = target->scale;
    made->write(place_size(plan.pairs[i].a), bytes_in(packed_a(*target, site)));
    all_b[i].resize(place_size(adapter_b_size(plan.pairs[i].tiles, site.panels)));
  }
  for (const AdapterRun& run : adapted.adapter_runs) {
    const AdapterTarget* target = (*targets)[place_size(run.site)];
    if (target != nullptr) pack_b(*target, run, all_b[place_size(run.site)]);
  }
  for (std::size_t i = 0; i < all_b.size(); ++i)
    made->write(place_size(plan.pairs[i].b), bytes_in(all_b[i]));
  made->write(0, bytes_in(plan.pairs));
  return std::shared_ptr<const CudaAdapter>(std::move(made));
}

std::vector<std::span<const std::byte>> CudaAdapter::pieces() const {
  std::vector<std::span<const std::byte>> pieces;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    pieces.emplace_back(memory_[i], std::min(kLoadBufferBytes, bytes_ - i * kLoadBufferBytes));
  }
  return pieces;
}

}  // namespace weft::cuda
