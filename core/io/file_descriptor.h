#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace weft {

/// A descriptor of the system that is closed at its end; -1 is none. One thread at a time.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) noexcept : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }
  /// Closes the present descriptor, and takes over `number`.
  void reset(int number = -1) noexcept;

  /// Reads or writes the whole span at the file's position. Returns false, with errno, when a part
  /// failed; errno is ENODATA where the file ends early.
  [[nodiscard]] bool read(std::span<std::byte> out) const noexcept;
  [[nodiscard]] bool write(std::span<const std::byte> bytes) const noexcept;

 private:
  int number_;
};

}  // namespace weft
