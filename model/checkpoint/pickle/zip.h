#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/io/byte_source.h"

namespace weft {

/// A file in a zip archive and the place of its bytes.
struct ZipEntry {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// A zip archive whose entries are stored, not compressed, as PyTorch writes them (PKWARE's
/// APPNOTE.TXT 6.3, with zip64 and data descriptors). Directory and local headers are read; entries
/// are not. Immutable; thread-safe.
///
/// The central directory counts; a local header must agree in name and method. Checksums are not
/// compared, because that would read a whole model from disk before it is needed.
class ZipArchive {
 public:
  /// kBadCheckpoint if a field is out of bounds, entries overlap, or a name occurs twice.
  /// kUnsupportedFormat for compressed or encrypted entries, and for archives in several parts.
  /// Errors of reading.
  [[nodiscard]] static Result<ZipArchive> read(const ByteSource& source);

  /// Sorted by name.
  [[nodiscard]] std::span<const ZipEntry> entries() const noexcept { return entries_; }
  [[nodiscard]] const ZipEntry* find(std::string_view name) const noexcept;

 private:
  std::vector<ZipEntry> entries_;
};

}  // namespace weft
