#include "weft/model/checkpoint/header_bytes.h"

#include <algorithm>
#include <span>
#include <string>

#include "weft/model/checkpoint/checkpoint_file.h"

namespace weft {
namespace {

Error too_long(const ByteSource& source, std::uint64_t begin, std::uint64_t count) {
  return bad_checkpoint(source.name(), "a header of " + std::to_string(count) +
                                           " bytes or more at offset " + std::to_string(begin) +
                                           ", more than " + std::to_string(kMaxHeldBytes));
}

}  // namespace

Result<std::vector<std::byte>> read_held(const ByteSource& source, std::uint64_t begin,
                                         std::uint64_t count) {
  if (count > kMaxHeldBytes) return too_long(source, begin, count);
  std::vector<std::byte> bytes(count);
  if (const auto read = source.read(begin, bytes); !read) return read.error();
  return bytes;
}

Result<void> HeaderBytes::grow() {
  const std::size_t had = bytes_.size();
  if (guess_ > kMaxHeldBytes) return too_long(source_, begin_, guess_);
  const std::uint64_t wanted = std::min(std::max<std::uint64_t>(guess_, 2 * had), kMaxHeldBytes);
  bytes_.resize(std::min(wanted, end_ - begin_));
  return source_.read(begin_ + had, std::span(bytes_).subspan(had));
}

}  // namespace weft
