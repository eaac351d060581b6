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
/// Files have the mode 0600. Writing does not wait for the disk: a file that a crash cut off does
/// not match its SHA-256. Only regular files are read and written, so no call waits for a pipe or
/// follows a link. One thread at a time.
class PageFile {
 public:
  /// Writes all bytes to a file; returns false, with errno, if some were not written.
  using Put = std::function<bool(const FileDescriptor& file, std::span<const std::byte> bytes)>;

  /// `identity` identifies the model of the pages, which all have `page_bytes`. Allocates now and
  /// not later. Without `put` it writes with FileDescriptor::write().
  PageFile(const PageKey& identity, std::size_t page_bytes, Put put = {});

  /// Returns the bytes of a whole file.
  [[nodiscard]] std::size_t bytes() const noexcept { return content_.size(); }
  /// Whether there is a file with the right length and header; its SHA-256 is not checked.
  [[nodiscard]] bool is_at(const std::filesystem::path& path, const PageKey& key) const;
  /// Writes a new file in place of an old one. Returns false, with errno, on failure; the part that
  /// was written stays.
  [[nodiscard]] bool write(const std::filesystem::path& path, const PageKey& key,
                           std::span<const std::byte> page);
  /// Fills `page`, and sets the file's times to mark its use. Returns false if the file is missing
  /// or has changed since it was written.
  [[nodiscard]] bool read(const std::filesystem::path& path, const PageKey& key,
                          std::span<std::byte> page);

 private:
  void write_header(const PageKey& key);

  const PageKey identity_;
  const std::size_t page_bytes_;
  const Put put_;
  std::vector<std::byte> content_;  // content of the file that is read or written
};

}  // namespace weft
