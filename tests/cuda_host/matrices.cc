#include "weft/tests/cuda_host/matrices.h"

#include <array>
#include <cstddef>
#include <cstring>

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
  /// That are still to come; below zero when they came before they were expected.
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

/// Element k of a row of an operand: groups of 8 rows lie 1024 bytes apart.
std::uint16_t operand(std::uint64_t begin, unsigned row, unsigned k) {
  const auto address =
      static_cast<std::uint32_t>(begin) * 16 + row / 8 * 1024 + row % 8 * 128 + k * 2;
  std::uint16_t bits = 0;
  std::memcpy(&bits, shared_at(swizzled(address)), sizeof(bits));
  return bits;
}

/// A thread's two rows of the left operand.
using LeftRows = std::array<std::array<float, kDepth>, 2>;

/// What a thread has of the sums: of each 8 columns two, of both its rows.
void multiply_rows(FromBits from_bits, const LeftRows& rows, float* sums, int count,
                   std::uint64_t right, bool add) {
  const unsigned thread = thread_number() % 128;
  for (int i = 0; i < count; i += 4) {
    for (unsigned next = 0; next < 2; ++next) {
      const unsigned column = static_cast<unsigned>(i) * 2 + thread % 4 * 2 + next;
      float products[2] = {};
      for (unsigned k = 0; k < kDepth; ++k) {
        const float number = from_bits(operand(right, column, k));
        for (unsigned half = 0; half < 2; ++half) products[half] += rows[half][k] * number;
      }
      for (unsigned half = 0; half < 2; ++half) {
        float& sum = sums[static_cast<unsigned>(i) + half * 2 + next];
        sum = (add ? sum : 0.0F) + products[half];
      }
    }
  }
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
  const unsigned thread = thread_number() % 128;
  pending_products().add([=] {
    const unsigned first_row = thread / 32 * 16 + thread % 32 / 4;
    LeftRows rows;
    for (unsigned half = 0; half < 2; ++half) {
      for (unsigned k = 0; k < kDepth; ++k) {
        rows[half][k] = from_bits(operand(left, first_row + half * 8, k));
      }
    }
    multiply_rows(from_bits, rows, sums, count, right, add);
  });
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

void copy_box_later(void* to, const CUtensorMap& map, std::int32_t column, std::int32_t row,
                    std::uint64_t* barrier) {
  check_aligned(to, map.swizzled ? 1024 : 128, "a box is copied to an address that is not aligned");
  do_later([=] {
    const std::uint32_t row_bytes = map.box_columns * map.number_bytes;
    const std::uint32_t begin = SharedMemory::instance().address_of(to);
    for (std::uint32_t r = 0; r < map.box_rows; ++r) {
      for (std::uint32_t c = 0; c < map.box_columns; ++c) {
        const std::uint32_t address = begin + r * row_bytes + c * map.number_bytes;
        std::byte* const target = shared_at(map.swizzled ? swizzled(address) : address);
        const std::int64_t from_row = std::int64_t{row} + r;
        const std::int64_t from_column = std::int64_t{column} + c;
        const bool is_inside = from_row >= 0 && from_row < static_cast<std::int64_t>(map.rows) &&
                               from_column >= 0 &&
                               from_column < static_cast<std::int64_t>(map.columns);
        if (is_inside) {
          std::memcpy(target,
                      map.data + static_cast<std::uint64_t>(from_row) * map.stride +
                          static_cast<std::uint64_t>(from_column) * map.number_bytes,
                      map.number_bytes);
        } else {
          std::memset(target, 0, map.number_bytes);
        }
      }
    }
    come(barrier, row_bytes * map.box_rows);
  });
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
  if (rank != 2 || reinterpret_cast<std::uintptr_t>(data) % 16 != 0 || strides[0] % 16 != 0 ||
      box[0] > kMostBox || box[1] > kMostBox || row_bytes % 16 != 0 ||
      (swizzled && row_bytes > 128) || sizes[0] == 0 || sizes[1] == 0 || steps[0] != 1 ||
      steps[1] != 1) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *map = {.data = static_cast<const unsigned char*>(data),
          .columns = sizes[0],
          .rows = sizes[1],
          .stride = strides[0],
          .box_columns = box[0],
          .box_rows = box[1],
          .number_bytes = number_bytes,
          .swizzled = swizzled};
  return CUDA_SUCCESS;
}
