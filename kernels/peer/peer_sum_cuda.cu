#include "weft/kernels/norm/norm_row_cuda.cuh"
#include "weft/kernels/peer/peer_sum_cuda.h"

namespace weft::cuda {
namespace {

// All bits set: a NaN that no operation produces. If a row contains it, another NaN is sent.
constexpr unsigned kEmpty = 0xffffffffU;
constexpr unsigned kOtherNan = 0x7fffffffU;

// Reads of the inbox for each read of is_lost, which is in host memory.
constexpr unsigned kLooksBetween = 1U << 12U;

// The threads of a processor, given the registers that a sum takes.
constexpr std::int64_t kThreadsOfAProcessor = 1024;

__device__ inline unsigned sendable(float value) {
  const unsigned bits = __float_as_uint(value);
  return bits == kEmpty ? kOtherNan : bits;
}

// Access memory of another GPU, or memory that another GPU writes, past the caches.
__device__ inline void write_around(float* to, uint4 bits) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(bits.x),
               "r"(bits.y), "r"(bits.z), "r"(bits.w)
               : "memory");
}
__device__ inline uint4 read_around(const float* from) {
  uint4 bits;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(from)
               : "memory");
  return bits;
}

/// One launch's half of the inboxes. Fours are numbered over all rows.
class Exchange {
 public:
  __device__ explicit Exchange(const PeerInboxes& inboxes)
      : inboxes_(inboxes), half_(*static_cast<volatile std::uint32_t*>(inboxes.turn)) {}

  __device__ void send(std::int32_t to, std::int64_t four, const Four& value) const {
    write_around(place(to, inboxes_.rank, four), {sendable(value.at[0]), sendable(value.at[1]),
                                                  sendable(value.at[2]), sendable(value.at[3])});
  }

  /// Waits for the value that rank `from` has sent, and empties its place. Returns any value if a
  /// rank is lost.
  __device__ Four receive(std::int32_t from, std::int64_t four) const {
    return take(place(inboxes_.rank, from, four));
  }

  /// Sends an owner's sum, into the receiver's place for its own rank, which is otherwise unused.
  __device__ void tell(std::int32_t to, std::int64_t four, const Four& value) const {
    write_around(place(to, to, four), {sendable(value.at[0]), sendable(value.at[1]),
                                       sendable(value.at[2]), sendable(value.at[3])});
  }
  __device__ Four hear(std::int64_t four) const {
    return take(place(inboxes_.rank, inboxes_.rank, four));
  }

  /// Returns the sum of all ranks' values, in the order of ranks.
  __device__ Four add_up(std::int64_t four, const Four& own) const {
    Four sum{};
    for (std::int32_t rank = 0; rank < inboxes_.ranks; ++rank) {
      const Four one = rank == inboxes_.rank ? own : receive(rank, four);
#pragma unroll
      for (int i = 0; i < 4; ++i) sum.at[i] = rank == 0 ? one.at[i] : sum.at[i] + one.at[i];
    }
    return sum;
  }

  /// The launch's last block switches the next launch to the other half. All threads call it.
  __device__ void end() const {
    __syncthreads();
    if (threadIdx.x != 0 || threadIdx.y != 0) return;
    const unsigned blocks = gridDim.x * gridDim.y;
    if (atomicAdd(inboxes_.turn + 1, 1U) != blocks - 1) return;
    inboxes_.turn[1] = 0;
    inboxes_.turn[0] = half_ ^ 1U;
  }

 private:
  [[nodiscard]] __device__ float* place(std::int32_t at, std::int32_t from,
                                        std::int64_t four) const {
    return inboxes_.of_rank[at] + (half_ * inboxes_.ranks + from) * inboxes_.numbers + four * 4;
  }

  [[nodiscard]] __device__ Four take(float* from) const {
    uint4 bits = read_around(from);
    for (unsigned looks = 1;
         bits.x == kEmpty || bits.y == kEmpty || bits.z == kEmpty || bits.w == kEmpty; ++looks) {
      if (looks % kLooksBetween == 0 &&
          *static_cast<const volatile std::uint32_t*>(inboxes_.is_lost) != 0) {
        break;
      }
      bits = read_around(from);
    }
    write_around(from, {kEmpty, kEmpty, kEmpty, kEmpty});
    return {{__uint_as_float(bits.x), __uint_as_float(bits.y), __uint_as_float(bits.z),
             __uint_as_float(bits.w)}};
  }

  const PeerInboxes& inboxes_;
  const std::int64_t half_;
};

/// Sums up the fours of a row that a thread holds, except fours beyond the row's end. `first` says
/// where each four begins.
template <int kHeld, class First>
__device__ inline void sum_up(const CudaPeerSumParams& params, const Exchange& exchange,
                              std::int64_t row, const First& first, Four (&value)[kHeld]) {
  const std::int64_t width = params.values.width;
  const std::int64_t fours = (width + 3) / 4;
  const std::int32_t ranks = params.inboxes.ranks;
  const std::int32_t self = params.inboxes.rank;
  const auto number = [&](int held) { return row * fours + first(held) / 4; };
  const auto owner = [&](int held) {
    return static_cast<std::int32_t>(first(held) / 4 * ranks / fours);
  };
  const bool two_shots = params.way == PeerSum::kTwoShots;
#pragma unroll
  for (int held = 0; held < kHeld; ++held) {
    value[held] = {};
    if (first(held) >= width) continue;
    value[held] = load_four(DType::kF32, row_of(params.values, row), first(held));
    for (std::int32_t to = 0; to < ranks; ++to) {
      if (to != self && (!two_shots || to == owner(held))) {
        exchange.send(to, number(held), value[held]);
      }
    }
  }
#pragma unroll
  for (int held = 0; held < kHeld; ++held) {
    if (first(held) >= width || (two_shots && owner(held) != self)) continue;
    value[held] = exchange.add_up(number(held), value[held]);
    for (std::int32_t to = 0; two_shots && to < ranks; ++to) {
      if (to != self) exchange.tell(to, number(held), value[held]);
    }
  }
#pragma unroll
  for (int held = 0; held < kHeld; ++held) {
    if (first(held) >= width) continue;
    if (two_shots && owner(held) != self) value[held] = exchange.hear(number(held));
    store_four(DType::kF32, writable_row(params.values, row), first(held), value[held],
               width - first(held));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (first(held) + i >= width) value[held].at[i] = 0;
    }
  }
}

__global__ void __launch_bounds__(kRowThreads) peer_sum_kernel(CudaPeerSumParams params) {
  let_successor_start();
  wait_for_predecessor();
  const Exchange exchange(params.inboxes);
  const auto [row, column] = row_place();
  Four value[1];
  sum_up(params, exchange, row, [column = column](int /*held*/) { return column; }, value);
  exchange.end();
}

template <int kHeld>
__global__ void __launch_bounds__(kMostNormThreads)
    peer_sum_and_norm_kernel(CudaPeerSumParams params) {
  Four weight[kHeld];
  load_norm_weight(params.norm, weight);
  let_successor_start();
  wait_for_predecessor();
  const Exchange exchange(params.inboxes);
  Four value[kHeld];
  sum_up(params, exchange, blockIdx.x, [](int held) { return held_column(held); }, value);
  norm_row(params.norm, blockIdx.x, value, weight);
  exchange.end();
}

}  // namespace

bool leaves_half(std::int64_t rows, std::int64_t width, bool has_norm, std::int64_t processors) {
  const std::int64_t of_a_row = has_norm ? std::int64_t{norm_block(width).threads}
                                         : (width + kRowColumns - 1) / kRowColumns * kRowThreads;
  return rows * of_a_row <= processors * kThreadsOfAProcessor / 2;
}

Status peer_sum(const CudaPeerSumParams& params, Stream stream) {
  const DeviceRows& values = params.values;
  if (!fits(params.inboxes, params.rows, values.width)) return status_of(cudaErrorInvalidValue);
  if (!params.has_norm) {
    return launch_rows(peer_sum_kernel, params.rows, values.width, stream, params);
  }
  return launch_norm({peer_sum_and_norm_kernel<1>, peer_sum_and_norm_kernel<2>,
                      peer_sum_and_norm_kernel<4>, peer_sum_and_norm_kernel<8>},
                     params.rows, values.width, stream, params);
}

}  // namespace weft::cuda
