#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// Returns how much of `bound` an owner may have, of which all other owners have `others`: half of
/// what they leave, rounded up. So one owner never takes the last place from the others. The owner
/// without a name may have all that is left: without keys a server has no other owner.
[[nodiscard]] constexpr std::int64_t share_of(std::int64_t bound, std::int64_t others,
                                              std::string_view owner) noexcept {
  const std::int64_t left = bound > others ? bound - others : 0;
  return owner.empty() ? left : left - left / 2;
}

}  // namespace weft
