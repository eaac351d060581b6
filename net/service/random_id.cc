#include "weft/net/service/random_id.h"

#include <openssl/rand.h>

#include <array>

#include "weft/core/error/internal_error.h"

namespace weft {

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    internal_error("there are no random numbers");
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  id.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    id.push_back(kDigits[byte >> 4U]);
    id.push_back(kDigits[byte & 15U]);
  }
  return id;
}

}  // namespace weft
