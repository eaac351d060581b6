#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// A file in a zip archive.
struct ZipEntry {
  std::string_view name;
  std::span<const std::byte> bytes;
};

/// A zip archive whose entries are stored, not compressed, as PyTorch writes them (PKWARE's
/// APPNOTE.TXT 6.3, with zip64 and data descriptors). Entries are views of the bytes it was read
/// from. Immutable; thread-safe.
///
/// What the central directory says holds; a local header must agree in name and method. Checksums
/// are not compared: that would read a whole model from disk before it is needed.
class ZipArchive {
 public:
  /// `file` is for messages. kBadCheckpoint when a field is out of bounds, entries overlap or a
  /// name comes twice; kUnsupportedFormat for entries that are compressed or encrypted and for
  /// archives in several parts.
  [[nodiscard]] static Result<ZipArchive> read(std::span<const std::byte> bytes,
                                               std::string_view file);

  /// Sorted by name.
  [[nodiscard]] std::span<const ZipEntry> entries() const noexcept { return entries_; }
  [[nodiscard]] const ZipEntry* find(std::string_view name) const noexcept;

 private:
  std::vector<ZipEntry> entries_;
};

}  // namespace weft
