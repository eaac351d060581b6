#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/grammar/grammar.h"

namespace weft::grammar {

/// Classes of bytes that a grammar treats alike: from every state all bytes of a class lead to the
/// same state. A class is a range of bytes; classes ascend with their bytes.
class ByteClasses {
 public:
  /// Finds the classes for the nodes that can be reached from a node. Takes time linear in the
  /// grammar's size.
  ByteClasses(const GrammarData& grammar, std::uint32_t start_node);

  [[nodiscard]] std::size_t count() const noexcept { return of_[255] + std::size_t{1}; }
  [[nodiscard]] std::size_t of(std::uint8_t byte) const noexcept { return of_[byte]; }

 private:
  std::array<std::uint8_t, 256> of_{};
};

}  // namespace weft::grammar
