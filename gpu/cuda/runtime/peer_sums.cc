#include "weft/gpu/cuda/runtime/peer_sums.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "weft/gpu/cuda/runtime/cuda_status.h"
#include "weft/gpu/cuda/runtime/peer_board.h"

namespace weft::cuda {
namespace {

// 8 MiB of numbers: NCCL takes the sums of longer prompts.
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 21U;

/// Frees memory of GPU `device`, whichever GPU is current on the calling thread.
void release(int device, void* memory) {
  int own = 0;
  static_cast<void>(cudaGetDevice(&own));
  static_cast<void>(cudaSetDevice(device));
  static_cast<void>(cudaFree(memory));
  static_cast<void>(cudaSetDevice(own));
}

/// Sets whether each GPU can access the memory of each other GPU.
Status reach(const std::vector<PeerInbox>& inboxes, bool& do_all) {
  do_all = true;
  for (const PeerInbox& from : inboxes) {
    for (const PeerInbox& to : inboxes) {
      if (from.device == to.device) continue;
      int can = 0;
      const auto asked = cudaDeviceCanAccessPeer(&can, from.device, to.device);
      if (asked != cudaSuccess) return status_of(asked);
      do_all = do_all && can != 0;
    }
  }
  return Status::kSuccess;
}

}  // namespace

Status PeerSums::show(const CudaRank& place, std::unique_ptr<PeerSums>& sums) {
  const std::int32_t ranks = place.all->widths[static_cast<std::size_t>(place.stage)];
  if (ranks < 2 || ranks > kMostPeers) return Status::kSuccess;
  std::unique_ptr<PeerSums> made(new PeerSums(place, ranks));
  const Status status = made->take_inbox();
  if (status == Status::kSuccess) sums = std::move(made);
  return status;
}

Status PeerSums::take_inbox() {
  int device = 0;
  if (const auto asked = cudaGetDevice(&device); asked != cudaSuccess) return status_of(asked);
  void* word = nullptr;
  const auto pinned =
      cudaHostAlloc(&word, sizeof(*is_lost_), cudaHostAllocMapped | cudaHostAllocPortable);
  if (pinned != cudaSuccess) return status_of(pinned);
  is_lost_ = static_cast<std::uint32_t*>(word);
  *is_lost_ = 0;

  const std::size_t bytes = inbox_bytes(ranks_, kMostNumbers);
  constexpr std::size_t kTurnBytes = 2 * sizeof(std::uint32_t);
  void* memory = nullptr;
  if (const auto taken = cudaMalloc(&memory, bytes + kTurnBytes); taken != cudaSuccess) {
    return status_of(taken);
  }
  const std::shared_ptr<float> inbox(static_cast<float*>(memory),
                                     [device](float* all) { release(device, all); });
  auto* turn = reinterpret_cast<std::uint32_t*>(static_cast<std::byte*>(memory) + bytes);
  auto status = cudaMemset(memory, kEmptyInbox, bytes);
  if (status == cudaSuccess) status = cudaMemset(turn, 0, kTurnBytes);
  if (status == cudaSuccess) status = cudaDeviceSynchronize();
  if (status != cudaSuccess) return status_of(status);

  inboxes_.ranks = ranks_;
  inboxes_.rank = place_.rank;
  inboxes_.numbers = kMostNumbers;
  inboxes_.turn = turn;
  inboxes_.is_lost = is_lost_;
  place_.all->peers.show(place_.stage, place_.rank, {device, inbox});
  return Status::kSuccess;
}

PeerSums::~PeerSums() {
  if (is_lost_ != nullptr) static_cast<void>(cudaFreeHost(is_lost_));
}

Status PeerSums::meet() {
  const std::vector<PeerInbox> all = place_.all->peers.of_stage(place_.stage, ranks_);
  if (all.empty()) return Status::kSuccess;
  bool do_all = false;
  if (const Status status = reach(all, do_all); status != Status::kSuccess) return status;
  if (!do_all) return Status::kSuccess;
  for (const PeerInbox& one : all) {
    int processors = 0;
    const auto asked =
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, one.device);
    if (asked != cudaSuccess) return status_of(asked);
    processors_ = processors_ == 0 ? processors : std::min(processors_, processors);
  }
  const int own = all[static_cast<std::size_t>(place_.rank)].device;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    inboxes_.of_rank[rank] = all[rank].inbox.get();
    if (all[rank].device == own) continue;
    const auto enabled = cudaDeviceEnablePeerAccess(all[rank].device, 0);
    if (enabled == cudaErrorPeerAccessAlreadyEnabled) {
      static_cast<void>(cudaGetLastError());  // the next call must not report it
    } else if (enabled != cudaSuccess) {
      return status_of(enabled);
    }
  }
  have_met_ = true;
  return Status::kSuccess;
}

bool PeerSums::takes(const CudaAllReduceParams& params, bool has_norm) const {
  const std::int64_t width = params.values.width;
  return have_met_ && params.way != SumWay::kNccl && fits(inboxes_, params.rows, width) &&
         leaves_half(params.rows, width, has_norm, processors_);
}

Status PeerSums::run(const CudaAllReduceParams& params, const CudaNormParams* norm, Stream stream) {
  CudaPeerSumParams sum;
  sum.rows = params.rows;
  sum.values = params.values;
  sum.inboxes = inboxes_;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(float));
  sum.way = params.way == SumWay::kOneShot ? PeerSum::kOneShot
            : params.way == SumWay::kTwoShots
                ? PeerSum::kTwoShots
                : sooner_way(ranks_, params.rows * params.values.width * kSize);
  sum.has_norm = norm != nullptr;
  if (norm != nullptr) sum.norm = *norm;
  return peer_sum(sum, stream);
}

void PeerSums::leave() noexcept { std::atomic_ref(*is_lost_).store(1, std::memory_order_release); }

}  // namespace weft::cuda
