#include "weft/core/io/file_descriptor.h"

#include <unistd.h>

#include <cerrno>

namespace weft {

void FileDescriptor::reset(int number) noexcept {
  if (number_ >= 0) ::close(number_);
  number_ = number;
}

bool FileDescriptor::read(std::span<std::byte> out) const noexcept {
  while (!out.empty()) {
    const ::ssize_t got = ::read(number_, out.data(), out.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = ENODATA;
    if (got <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool FileDescriptor::write(std::span<const std::byte> bytes) const noexcept {
  while (!bytes.empty()) {
    const ::ssize_t put = ::write(number_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace weft
