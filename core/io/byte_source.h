#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// Bytes that are read piece by piece from where they lie: a file, or memory. Immutable; reading is
/// thread-safe.
class ByteSource {
 public:
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// The size in bytes when the source was opened; offsets and counts are checked against it.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// The source's name in messages: a file's path.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Fills `out` with the bytes from `offset` on; on an error `out` holds anything. A range outside
  /// size() is the caller's bug (internal_error). Returns the errors of the kind of source.
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> out) const;

 protected:
  ByteSource(std::string name, std::uint64_t size) : name_(std::move(name)), size_(size) {}

 private:
  [[nodiscard]] virtual Result<void> read_within(std::uint64_t offset,
                                                 std::span<std::byte> out) const = 0;

  std::string name_;
  std::uint64_t size_;
};

/// Tensors of one file share it.
using SharedSource = std::shared_ptr<const ByteSource>;

/// Bytes in memory, owned by the source. Reading does not fail.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::vector<std::byte> bytes)
      : ByteSource(std::move(name), bytes.size()), bytes_(std::move(bytes)) {}

 private:
  [[nodiscard]] Result<void> read_within(std::uint64_t offset,
                                         std::span<std::byte> out) const override;

  std::vector<std::byte> bytes_;
};

}  // namespace weft
