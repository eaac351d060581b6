#pragma once

#include <array>
#include <cstdint>

namespace weft {

/// What each of the processor's eight tiles holds: `rows` lines of `line_bytes` each.
struct AmxShapes {
  struct Shape {
    std::uint8_t rows = 0;         ///< 1 to 16
    std::uint16_t line_bytes = 0;  ///< 4 to 64
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  std::array<Shape, 8> tiles{};

  friend bool operator==(const AmxShapes&, const AmxShapes&) = default;
};

/// The calling thread's tiles while it lives. Tiles and their shapes are the thread's and no call
/// may count on them (System V ABI: they are the caller's to save), so whoever uses some has one of
/// these on its stack. A thread needs no preparation, and is left with none configured: its context
/// is then as small as before. Only where the processor has CpuTarget::kAvx512Amx.
class AmxTiles {
 public:
  AmxTiles() = default;
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
  ~AmxTiles();

  /// The tiles get these shapes; other shapes than the last leave zeros in all of them.
  void shape(const AmxShapes& shapes);

 private:
  AmxShapes shapes_;
  bool is_shaped_ = false;
};

/// Whether this process may use tiles of bf16 and int8: the processor has them and the system saves
/// them. Linux wants to be asked: the first call asks, for the whole process and for good (a thread
/// may then no longer have an alternative signal stack too small for the tiles, 8 KiB more than
/// before; where one has, the system refuses). Thread-safe.
[[nodiscard]] bool may_use_amx() noexcept;

}  // namespace weft
