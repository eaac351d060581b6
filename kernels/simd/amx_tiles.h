#pragma once

#include <array>
#include <cstdint>

namespace weft {

/// The shapes of the processor's eight tiles: `rows` lines of `line_bytes` each.
struct AmxShapes {
  struct Shape {
    std::uint8_t rows = 0;         ///< 1 to 16
    std::uint16_t line_bytes = 0;  ///< 4 to 64
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  std::array<Shape, 8> tiles{};

  friend bool operator==(const AmxShapes&, const AmxShapes&) = default;
};

/// Owns the calling thread's tiles while it lives. A called function may change tiles and their
/// shapes (the System V ABI makes the caller save them), so a function that uses tiles has an
/// AmxTiles on its stack. A thread needs no preparation. The destructor leaves no tiles configured,
/// so the thread's context is small again. Requires a processor with CpuTarget::kAvx512Amx.
class AmxTiles {
 public:
  AmxTiles() = default;
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;
  ~AmxTiles();

  /// Sets the tiles' shapes. If they differ from the last shapes, all tiles become zero.
  void shape(const AmxShapes& shapes);

 private:
  AmxShapes shapes_;
  bool is_shaped_ = false;
};

/// Whether this process may use tiles of bf16 and int8: the processor has tiles and the system
/// saves them. Linux requires a request; the first call makes it, for the whole process and for
/// good. From then on an alternative signal stack needs 8 KiB more, for the tiles; if a thread
/// already has a smaller one, Linux refuses. Thread-safe.
[[nodiscard]] bool may_use_amx() noexcept;

}  // namespace weft
