#include "weft/kernels/simd/amx_tiles.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#define WEFT_TILES __attribute__((target("amx-tile")))

namespace weft {
namespace {

/// The configuration that LDTILECFG reads.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;  // the only palette: eight tiles of 16 lines of 64 bytes
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> line_bytes{};
  std::array<std::uint8_t, 16> rows{};
};
static_assert(sizeof(TileConfig) == 64);

/// Whether the system saves tiles in a thread's context (XCR0; Intel's manual, volume 1, 18.3).
bool system_saves_tiles() noexcept {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr std::uint32_t kTiles = (1U << 17U) | (1U << 18U);
  return (low & kTiles) == kTiles;
}

bool processor_has_tiles() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(1, 0, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBf16 = 1U << 22U;
  constexpr unsigned kTiles = 1U << 24U;
  constexpr unsigned kInt8 = 1U << 25U;
  constexpr unsigned kAll = kBf16 | kTiles | kInt8;
  return (d & kAll) == kAll && system_saves_tiles();
}

bool system_permits_tiles() noexcept {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

WEFT_TILES void release() { _tile_release(); }

}  // namespace

bool may_use_amx() noexcept {
  static const bool may = processor_has_tiles() && system_permits_tiles();
  return may;
}

WEFT_TILES void AmxTiles::shape(const AmxShapes& shapes) {
  if (is_shaped_ && shapes == shapes_) return;
  TileConfig config;
  for (std::size_t tile = 0; tile < shapes.tiles.size(); ++tile) {
    config.rows[tile] = shapes.tiles[tile].rows;
    config.line_bytes[tile] = shapes.tiles[tile].line_bytes;
  }
  asm volatile("" ::: "memory");  // GCC 12 does not know that the next line reads it
  _tile_loadconfig(&config);
  shapes_ = shapes;
  is_shaped_ = true;
}

AmxTiles::~AmxTiles() {
  if (is_shaped_) release();
}

}  // namespace weft

#else

#include "weft/core/error/internal_error.h"

namespace weft {

bool may_use_amx() noexcept { return false; }
void AmxTiles::shape(const AmxShapes& /*shapes*/) { internal_error("no tiles here"); }
AmxTiles::~AmxTiles() = default;

}  // namespace weft

#endif
