#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/io/byte_reader.h"
#include "weft/core/io/byte_source.h"

namespace weft {

/// The most bytes of a file that a reader holds, besides the tensors' bytes, which it never reads:
/// metadata, names, a vocabulary, a pickle. The largest in use have some ten MiB.
inline constexpr std::uint64_t kMaxHeldBytes = 256ULL << 20U;

/// Returns bytes [begin, begin + count) of the source, which must exist. kBadCheckpoint above
/// kMaxHeldBytes; errors of reading.
[[nodiscard]] Result<std::vector<std::byte>> read_held(const ByteSource& source,
                                                       std::uint64_t begin, std::uint64_t count);

/// The header of a file that does not state its length. It reads as many bytes from `begin` on as
/// the parser needs. Parsed values may point into these bytes. Owner only.
class HeaderBytes {
 public:
  /// The header ends at `end` at the latest, which is at most the source's size. It reads `guess`
  /// bytes at first.
  HeaderBytes(const ByteSource& source, std::uint64_t begin, std::uint64_t end,
              std::uint64_t guess = std::uint64_t{64} << 10U)
      : source_(source), begin_(begin), end_(end), guess_(guess) {}

  /// Calls parse(ByteWindow&) and returns its Result, if parse did not need more bytes than it got.
  /// Otherwise calls parse again from the start with at least twice as many. kBadCheckpoint above
  /// kMaxHeldBytes; errors of reading.
  template <class Parse>
  auto parse(const Parse& parse) -> decltype(parse(std::declval<ByteWindow&>())) {
    while (true) {
      if (const auto grown = grow(); !grown) return grown.error();
      ByteWindow window{bytes_, begin_, end_};
      auto parsed = parse(window);
      if (window.wanted == 0) return parsed;
      guess_ = window.wanted - begin_;
    }
  }

 private:
  [[nodiscard]] Result<void> grow();

  const ByteSource& source_;
  std::uint64_t begin_;
  std::uint64_t end_;
  std::uint64_t guess_;
  std::vector<std::byte> bytes_;
};

}  // namespace weft
