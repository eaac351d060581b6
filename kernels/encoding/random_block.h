#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/kernels/encoding/encoding.h"

namespace weft {

/// Makes a block of random codes with scales of ordinary size.
template <class Random>
std::vector<std::byte> random_block(const Encoding& encoding, Random& random) {
  std::vector<std::byte> block(static_cast<std::size_t>(block_of(encoding.dtype).bytes));
  for (std::byte& byte : block) byte = static_cast<std::byte>(random());
  if (encoding.codes == CodeType::kFloat) {  // avoids the code of NaN
    for (std::byte& byte : block)
      byte = byte == std::byte{0x7f} || byte == std::byte{0xff} ? std::byte{} : byte;
  }
  const auto put = [&](std::int64_t at) {
    const auto bits = static_cast<std::uint16_t>(0x2400 + random() % 0x800);  // 2^-6 .. 2^-4
    std::memcpy(block.data() + at, &bits, sizeof(bits));
  };
  switch (encoding.scale_type) {
    case ScaleType::kE8M0:
      block[0] = static_cast<std::byte>(120 + random() % 4);
      break;
    case ScaleType::kF32: {
      const float scale = static_cast<float>(0x400 + random() % 0x800) * 0x1p-16F;  // as above
      std::memcpy(block.data() + encoding.scale_at, &scale, sizeof(scale));
      break;
    }
    case ScaleType::kF16:
      for (std::int64_t i = 0; i < encoding.scales; ++i) put(encoding.scale_at + 2 * i);
      if (encoding.has_minimum && encoding.minimum_at != encoding.scale_at)
        put(encoding.minimum_at);
      break;
    case ScaleType::kF16InNibbles: {
      const auto at = static_cast<std::size_t>(encoding.scale_at);
      block[at + 7] = (block[at + 7] & std::byte{0x0f}) | std::byte{0x20};
      break;
    }
  }
  return block;
}

}  // namespace weft
