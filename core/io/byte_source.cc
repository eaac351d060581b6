#include "weft/core/io/byte_source.h"

#include <cstring>

#include "weft/core/error/internal_error.h"

namespace weft {

Result<void> ByteSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > size_ || out.size() > size_ - offset) internal_error("bytes outside their source");
  if (out.empty()) return {};
  return read_within(offset, out);
}

Result<void> MemorySource::read_within(std::uint64_t offset, std::span<std::byte> out) const {
  std::memcpy(out.data(), bytes_.data() + offset, out.size());
  return {};
}

}  // namespace weft
