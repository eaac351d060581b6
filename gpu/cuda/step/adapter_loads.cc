#include "weft/gpu/cuda/step/adapter_loads.h"

#include <algorithm>

#include "weft/core/error/internal_error.h"

namespace weft::cuda {

AdapterLoads::AdapterLoads(Runtime& runtime, const CudaAdapterPlaces& places,
                           const ProgramPart& part)
    : runtime_(runtime),
      places_(places),
      part_(part),
      stream_(make_stream(runtime)),
      copied_(make_event(runtime)) {}

AdapterLoads::~AdapterLoads() {
  // Neither the source nor the target of a running copy may be freed. Errors were reported before.
  if (any()) static_cast<void>(runtime_.synchronize(stream_.get()));
}

const CudaAdapter& AdapterLoads::own_part(const PreparedAdapter& adapter) const {
  for (const auto& one : adapter.by_rank) {
    const auto* own = dynamic_cast<const CudaAdapter*>(one.get());
    if (own != nullptr && own->is_for(part_)) return *own;
  }
  internal_error("an adapter that was not prepared for this part of the model");
}

void AdapterLoads::begin(std::int32_t place,
                         const std::shared_ptr<const PreparedAdapter>& adapter) {
  const CudaAdapter& own = own_part(*adapter);
  if (own.place_bytes() > static_cast<std::size_t>(places_.bytes))
    internal_error("an adapter that is larger than its place");
  Load& load = loads_.emplace_back(Load{place, adapter});
  auto* to = const_cast<std::byte*>(places_.data) + place * places_.bytes;
  for (const std::span<const std::byte> piece : own.pieces()) {
    check(runtime_, runtime_.copy_to_device(to, piece.data(), piece.size(), stream_.get()),
          "copying an adapter");
    to += piece.size();
  }
  check(runtime_, runtime_.record(copied_.get(), stream_.get()), "copying an adapter");
  load.is_whole = true;
}

void AdapterLoads::wait_for(std::int32_t place, Stream step) {
  if (std::ranges::find(loads_, place, &Load::place) == loads_.end()) return;
  check(runtime_, runtime_.wait(step, copied_.get()), "waiting for an adapter");
}

void AdapterLoads::finish() {
  if (any()) check(runtime_, runtime_.wait(copied_.get()), "copying an adapter");
}

void AdapterLoads::tell(std::vector<std::int32_t>& places) {
  if (!any()) return;
  const Status status = runtime_.query(stream_.get());
  if (status == kNotReady) return;
  check(runtime_, status, "copying an adapter");
  for (const Load& load : loads_) {
    const bool is_told = std::ranges::find(places, load.place) != places.end();
    if (load.is_whole && !is_told) places.push_back(load.place);
  }
  loads_.clear();
}

}  // namespace weft::cuda
