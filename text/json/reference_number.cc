#include "weft/text/json/reference_number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace weft {
namespace {

// Powers that a double holds exactly; 17 digits need no larger ones down to a millionth.
constexpr std::array kPowersOfTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

}  // namespace

double reference_number(double exact) noexcept {
  // Writers of these files, like this function, write the shortest digits that read back as the
  // number.
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), std::abs(exact),
                                          std::chars_format::scientific);
  if (error != std::errc()) return exact;
  std::uint64_t digits = 0;
  int exponent = 0;
  const char* at = text.data();
  for (bool fraction = false; at != end && *at != 'e'; ++at) {
    if (*at == '.') {
      fraction = true;
      continue;
    }
    digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
    exponent -= fraction ? 1 : 0;
  }
  if (end - at < 3) return exact;  // too short for e-07 or e+01, so it is no number
  int written = 0;
  std::from_chars(at + 2, end, written);
  exponent += at[1] == '-' ? -written : written;
  const auto power = static_cast<std::size_t>(std::abs(exponent));
  if (power >= kPowersOfTen.size()) return exact;
  const auto whole = static_cast<double>(digits);
  const double read = exponent < 0 ? whole / kPowersOfTen[power] : whole * kPowersOfTen[power];
  return std::copysign(read, exact);
}

}  // namespace weft
