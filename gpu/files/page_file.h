#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "weft/core/io/file_descriptor.h"
#include "weft/gpu/files/page_key.h"

namespace weft {

/// The form of a file with a page of the KV cache:
///
///     "WEFTKV" 0 1 | identity 32 | key 32 | bytes of the page 8 | the page | SHA-256 of all of it
///
/// with the mode 0600. Nothing waits for the disk to have the bytes: a file that a crash has torn
/// does not match its SHA-256. It reads and writes regular files alone: it waits for no pipe and
/// follows no link. One thread at a time.
class PageFile {
 public:
  /// Writes all bytes to a file; returns false, with errno, where some were not written.
  using Put = std::function<bool(const FileDescriptor& file, std::span<const std::byte> bytes)>;

  /// `identity` says whose pages they are, all of `page_bytes`. It allocates now and not later.
  /// Without `put` FileDescriptor::write() writes.
  PageFile(const PageKey& identity, std::size_t page_bytes, Put put = {});

  /// The bytes of a whole file.
  [[nodiscard]] std::size_t bytes() const noexcept { return content_.size(); }
  /// Whether a file with the right length and header is there; its SHA-256 is not checked.
  [[nodiscard]] bool is_at(const std::filesystem::path& path, const PageKey& key) const;
  /// Writes a new file in the place of an old one. Returns false, with errno, where that fails; the
  /// part that was written stays.
  [[nodiscard]] bool write(const std::filesystem::path& path, const PageKey& key,
                           std::span<const std::byte> page);
  /// Fills `page`, and notes in the file's times that it was used. Returns false where the file is
  /// gone or has changed since it was written.
  [[nodiscard]] bool read(const std::filesystem::path& path, const PageKey& key,
                          std::span<std::byte> page);

 private:
  void write_header(const PageKey& key);

  const PageKey identity_;
  const std::size_t page_bytes_;
  const Put put_;
  std::vector<std::byte> content_;  // of one as it is read or written
};

}  // namespace weft
