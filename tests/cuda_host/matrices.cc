#include "weft/tests/cuda_host/matrices.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>

#include "weft/tests/cuda_host/machine.h"
#include "weft/tests/cuda_host/shared_memory.h"

namespace weft::cuda_host {
namespace {

constexpr int kDepth = 16;  // of a product
constexpr unsigned kLanes = 32;

std::byte* shared_at(std::uint32_t address) { return SharedMemory::instance().at(address); }

std::uint16_t half_of(std::uint32_t word, unsigned upper) {
  return static_cast<std::uint16_t>(word >> 16 * upper);
}

struct WarpProduct {
  FromBits from_bits;
  float (&sums)[4];
  const std::uint32_t (&a)[4];
  std::uint32_t b[2];

  /// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type".
  static void combine(void* const (&brought)[kLanes], std::uint32_t present) {
    if (present != 0xffffffffU) report("mma without all lanes of its warp");
    const auto lane = [&](unsigned i) -> WarpProduct& {
      return *static_cast<WarpProduct*>(brought[i]);
    };
    float left[16][kDepth];
    float right[8][kDepth];
    for (unsigned l = 0; l < kLanes; ++l) {
      for (unsigned i = 0; i < 4; ++i) {
        for (unsigned upper = 0; upper < 2; ++upper) {
          left[l / 4 + i % 2 * 8][l % 4 * 2 + upper + i / 2 * 8] =
              lane(l).from_bits(half_of(lane(l).a[i], upper));
        }
      }
      for (unsigned i = 0; i < 2; ++i) {
        for (unsigned upper = 0; upper < 2; ++upper) {
          right[l / 4][l % 4 * 2 + upper + i * 8] = lane(l).from_bits(half_of(lane(l).b[i], upper));
        }
      }
    }
    for (unsigned l = 0; l < kLanes; ++l) {
      for (unsigned i = 0; i < 4; ++i) {
        float sum = 0;
        for (int k = 0; k < kDepth; ++k) {
          sum += left[l / 4 + i / 2 * 8][k] * right[l % 4 * 2 + i % 2][k];
        }
        lane(l).sums[i] += sum;
      }
    }
  }
};

struct MatrixRows {
  std::uint32_t address;
  std::uint32_t (&to)[4];
  bool turned;

  static void combine(void* const (&brought)[kLanes], std::uint32_t present) {
    if (present != 0xffffffffU) report("ldmatrix without all lanes of its warp");
    std::uint16_t rows[kLanes][8];
    for (unsigned l = 0; l < kLanes; ++l) {
      const std::uint32_t address = static_cast<MatrixRows*>(brought[l])->address;
      if (address % 16 != 0) report("ldmatrix from an address that is no multiple of 16");
      std::memcpy(rows[l], shared_at(address), sizeof(rows[l]));
    }
    for (unsigned l = 0; l < kLanes; ++l) {
      auto& own = *static_cast<MatrixRows*>(brought[l]);
      for (unsigned matrix = 0; matrix < 4; ++matrix) {
        const auto number = [&](unsigned i) -> std::uint32_t {
          return own.turned ? rows[matrix * 8 + l % 4 * 2 + i][l / 4]
                            : rows[matrix * 8 + l / 4][l % 4 * 2 + i];
        };
        own.to[matrix] = number(0) | number(1) << 16U;
      }
    }
  }
};

// --- mbarrier

/// A barrier's 64 bits.
struct Phase {
  std::uint16_t expected;  ///< arrivals in each phase
  std::uint16_t missing;   ///< arrivals
  std::uint32_t bytes_and_parity;

  [[nodiscard]] std::uint32_t parity() const { return bytes_and_parity & 1U; }
  /// Returns the bytes that are still to come; negative if they came before they were expected.
  [[nodiscard]] std::int32_t bytes() const {
    return static_cast<std::int32_t>(bytes_and_parity) >> 1U;
  }
  void add_bytes(std::int32_t more) {
    bytes_and_parity = static_cast<std::uint32_t>(bytes() + more) << 1U | parity();
  }
  void end_if_complete() {
    if (missing > 0 || bytes() != 0) return;
    missing = expected;
    bytes_and_parity ^= 1U;
    note_change();
  }
};
static_assert(sizeof(Phase) == sizeof(std::uint64_t));

constexpr std::uint32_t kMostArrivals = 0xfffe;

Phase& phase_of(std::uint64_t* barrier) {
  if (reinterpret_cast<std::uintptr_t>(barrier) % alignof(std::uint64_t) != 0) {
    report("an mbarrier that is not aligned to 8 bytes");
  }
  auto& phase = *reinterpret_cast<Phase*>(barrier);
  if (phase.expected > kMostArrivals || phase.expected == 0) {
    report("an mbarrier that was not initialised");
  }
  return phase;
}

void come(std::uint64_t* barrier, std::uint32_t bytes) {
  Phase& phase = phase_of(barrier);
  phase.add_bytes(-static_cast<std::int32_t>(bytes));
  phase.end_if_complete();
}

void check_aligned(const void* pointer, std::uintptr_t to, const char* what) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % to != 0) report(what);
}

/// Swaps 16-byte words as the 128-byte swizzle does: bits 4 .. 6 of an address with bits 7 .. 9.
std::uint32_t swizzled(std::uint32_t address) { return address ^ (address >> 3U & 0x70U); }

/// Number `index` of a box that begins at `place`; null outside of the tensor.
const unsigned char* number_of_box(const CUtensorMap& map, const BoxPlace& place,
                                   std::uint32_t index) {
  const unsigned char* at = map.data;
  for (std::uint32_t d = 0; d < CUtensorMap::kMostRank; ++d) {
    const std::int64_t along = std::int64_t{place[d]} + index % map.box[d];
    index /= map.box[d];
    if (along < 0 || along >= static_cast<std::int64_t>(map.sizes[d])) return nullptr;
    at += static_cast<std::uint64_t>(along) * map.strides[d];
  }
  return at;
}

/// Element k of a row of an operand: groups of 8 rows lie 1024 bytes apart.
template <class Bits>
Bits operand(std::uint64_t begin, unsigned row, unsigned k) {
  const auto address = static_cast<std::uint32_t>(begin) * 16 + row / 8 * 1024 + row % 8 * 128 +
                       k * static_cast<unsigned>(sizeof(Bits));
  Bits bits = 0;
  std::memcpy(&bits, shared_at(swizzled(address)), sizeof(bits));
  return bits;
}

/// Depth of a warpgroup's product of such numbers.
template <class Bits>
constexpr unsigned kDepthOf = 32 / sizeof(Bits);

/// A thread's two rows of the left operand.
template <class Bits>
using RowsOf = std::array<std::array<float, kDepthOf<Bits>>, 2>;
using LeftRows = RowsOf<std::uint16_t>;

/// Adds a thread's part of the sums: two of each 8 columns, of both its rows.
template <class Bits>
void multiply_rows(float (*from_bits)(Bits), const RowsOf<Bits>& rows, float* sums, int count,
                   std::uint64_t right, bool add) {
  const unsigned thread = thread_number() % 128;
  for (int i = 0; i < count; i += 4) {
    for (unsigned next = 0; next < 2; ++next) {
      const unsigned column = static_cast<unsigned>(i) * 2 + thread % 4 * 2 + next;
      float products[2] = {};
      for (unsigned k = 0; k < kDepthOf<Bits>; ++k) {
        const float number = from_bits(operand<Bits>(right, column, k));
        for (unsigned half = 0; half < 2; ++half) products[half] += rows[half][k] * number;
      }
      for (unsigned half = 0; half < 2; ++half) {
        float& sum = sums[static_cast<unsigned>(i) + half * 2 + next];
        sum = (add ? sum : 0.0F) + products[half];
      }
    }
  }
}

/// Multiplies with both operands in shared memory.
template <class Bits>
void multiply_shared_later(float (*from_bits)(Bits), float* sums, int count, std::uint64_t left,
                           std::uint64_t right, bool add) {
  const unsigned thread = thread_number() % 128;
  pending_products().add([=] {
    const unsigned first_row = thread / 32 * 16 + thread % 32 / 4;
    RowsOf<Bits> rows;
    for (unsigned half = 0; half < 2; ++half) {
      for (unsigned k = 0; k < kDepthOf<Bits>; ++k) {
        rows[half][k] = from_bits(operand<Bits>(left, first_row + half * 8, k));
      }
    }
    multiply_rows(from_bits, rows, sums, count, right, add);
  });
}

/// Copies a box to the shared memory of the block that calls it.
std::function<void()> box_copy(void* to, const CUtensorMap& map, std::uint32_t rank,
                               const BoxPlace& place, std::uint64_t* barrier) {
  if (map.rank != rank) report("a box is copied of a tensor of another rank");
  check_aligned(to, map.swizzled ? 1024 : 128, "a box is copied to an address that is not aligned");
  return [=] {
    const std::uint32_t begin = SharedMemory::instance().address_of(to);
    const auto number_bytes = static_cast<std::uint32_t>(map.strides[0]);
    std::uint32_t count = 1;
    for (const std::uint32_t side : map.box) count *= side;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t address = begin + i * number_bytes;
      std::byte* const target = shared_at(map.swizzled ? swizzled(address) : address);
      const unsigned char* const from = number_of_box(map, place, i);
      if (from != nullptr) {
        std::memcpy(target, from, number_bytes);
      } else {
        std::memset(target, 0, number_bytes);
      }
    }
    come(barrier, count * number_bytes);
  };
}

/// A lane's registers of the left operand, and the rows that the lanes have together.
struct RegisterRows {
  FromBits from_bits;
  const std::uint32_t (&left)[4];
  LeftRows rows;

  static void combine(void* const (&brought)[kLanes], std::uint32_t present) {
    if (present != 0xffffffffU) report("wgmma without all lanes of its warp");
    for (unsigned l = 0; l < kLanes; ++l) {
      auto& own = *static_cast<RegisterRows*>(brought[l]);
      for (unsigned k = 0; k < kDepth; ++k) {
        const auto& from = *static_cast<RegisterRows*>(brought[l / 4 * 4 + k % 8 / 2]);
        for (unsigned half = 0; half < 2; ++half) {
          own.rows[half][k] = own.from_bits(half_of(from.left[half + k / 8 * 2], k % 2));
        }
      }
    }
  }
};

}  // namespace

void multiply_warp(FromBits from_bits, float (&sums)[4], const std::uint32_t (&a)[4],
                   std::uint32_t b0, std::uint32_t b1) {
  WarpProduct own{from_bits, sums, a, {b0, b1}};
  meet_lanes("mma.m16n8k16", 0xffffffffU, &own, WarpProduct::combine);
}

void load_four_matrices(std::uint32_t (&to)[4], std::uint32_t address, bool turned) {
  MatrixRows own{address, to, turned};
  meet_lanes("ldmatrix", 0xffffffffU, &own, MatrixRows::combine);
}

void fetch_later(std::uint32_t to, const std::byte* from, int bytes) {
  constexpr std::size_t kBytes = 16;
  if (to % kBytes != 0) report("cp.async to an address that is no multiple of 16");
  if (bytes < 0 || bytes > 16) report("cp.async of more than 16 bytes");
  const auto present = static_cast<std::size_t>(bytes);
  if (bytes > 0) check_aligned(from, kBytes, "cp.async from an address that is no multiple of 16");
  pending_fetches().add([to, from, present] {
    std::byte* place = shared_at(to);
    if (present > 0) std::memcpy(place, from, present);
    std::memset(place + present, 0, kBytes - present);
  });
}

void multiply_warpgroup_later(FromBits from_bits, float* sums, int count, std::uint64_t left,
                              std::uint64_t right, bool add) {
  multiply_shared_later(from_bits, sums, count, left, right, add);
}

void multiply_warpgroup_later(FromByte from_byte, float* sums, int count, std::uint64_t left,
                              std::uint64_t right, bool add) {
  multiply_shared_later(from_byte, sums, count, left, right, add);
}

void multiply_warpgroup_later(FromBits from_bits, float* sums, int count,
                              const std::uint32_t (&left)[4], std::uint64_t right, bool add) {
  RegisterRows own{from_bits, left, {}};
  meet_lanes("wgmma", 0xffffffffU, &own, RegisterRows::combine);
  pending_products().add([from_bits, rows = own.rows, sums, count, right, add] {
    multiply_rows(from_bits, rows, sums, count, right, add);
  });
}

void init_barrier(std::uint64_t* barrier, std::uint32_t arrivals) {
  if (arrivals == 0 || arrivals > kMostArrivals) report("an mbarrier of no or too many arrivals");
  const auto count = static_cast<std::uint16_t>(arrivals);
  *reinterpret_cast<Phase*>(barrier) = {count, count, 0};
}

void arrive(std::uint64_t* barrier, std::uint32_t expected_bytes) {
  Phase& phase = phase_of(barrier);
  if (phase.missing == 0) report("an mbarrier at which more arrive than it waits for");
  phase.add_bytes(static_cast<std::int32_t>(expected_bytes));
  --phase.missing;
  phase.end_if_complete();
}

void arrive_after_fetches(std::uint64_t* barrier) {
  pending_fetches().do_later([barrier] { arrive(barrier, 0); });
}

void wait(std::uint64_t* barrier, std::uint32_t parity) {
  while (phase_of(barrier).parity() == parity) let_others_run("an mbarrier");
}

void copy_box_later(void* to, const CUtensorMap& map, std::uint32_t rank, const BoxPlace& place,
                    std::uint64_t* barrier) {
  do_later(box_copy(to, map, rank, place, barrier));
}

void copy_box_to_both_later(void* to, const CUtensorMap& map, const BoxPlace& place,
                            std::uint64_t* barrier) {
  for (const int block : {0, 1}) do_later_in(block, box_copy(to, map, 2, place, barrier));
}

void copy_bytes_later(void* to, const void* from, std::uint32_t bytes, std::uint64_t* barrier) {
  check_aligned(to, 16, "bytes are copied to an address that is no multiple of 16");
  check_aligned(from, 16, "bytes are copied from an address that is no multiple of 16");
  if (bytes % 16 != 0) report("a number of bytes is copied that is no multiple of 16");
  do_later([=] {
    std::memcpy(to, from, bytes);
    come(barrier, bytes);
  });
}

}  // namespace weft::cuda_host

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* data, const cuuint64_t* sizes, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* steps,
                                CUtensorMapInterleave /*interleave*/, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion /*promotion*/,
                                CUtensorMapFloatOOBfill /*fill*/) {
  constexpr std::uint32_t kMostBox = 256;
  const std::uint32_t number_bytes = type == CU_TENSOR_MAP_DATA_TYPE_UINT8 ? 1 : 2;
  const bool swizzled = swizzle == CU_TENSOR_MAP_SWIZZLE_128B;
  const std::uint32_t row_bytes = box[0] * number_bytes;
  if (rank < 2 || rank > CUtensorMap::kMostRank || row_bytes % 16 != 0 ||
      (swizzled && row_bytes > 128) || reinterpret_cast<std::uintptr_t>(data) % 16 != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *map = CUtensorMap{};
  map->data = static_cast<const unsigned char*>(data);
  map->rank = rank;
  map->swizzled = swizzled;
  for (cuuint32_t d = 0; d < CUtensorMap::kMostRank; ++d) {
    const bool exists = d < rank;
    map->sizes[d] = exists ? sizes[d] : 1;
    map->box[d] = exists ? box[d] : 1;
    map->strides[d] = d == 0 ? number_bytes : exists ? strides[d - 1] : 0;
    if (map->sizes[d] == 0 || map->box[d] > kMostBox || (exists && steps[d] != 1) ||
        (d > 0 && map->strides[d] % 16 != 0)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}
