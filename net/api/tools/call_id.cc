#include "weft/net/api/tools/call_id.h"

#include <cstdint>

namespace weft {
namespace {

// FNV-1a, 64 bits. It suffices, because the random part of an answer's id has more entropy than
// nine characters hold.
constexpr std::uint64_t kBasis = 14695981039346656037U;
constexpr std::uint64_t kPrime = 1099511628211U;

std::uint64_t mix(std::uint64_t hash, std::uint64_t byte) { return (hash ^ byte) * kPrime; }

}  // namespace

std::string call_id(std::string_view answer, std::size_t choice, std::size_t call) {
  constexpr std::string_view kDigits =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::size_t kLength = 9;
  std::uint64_t hash = kBasis;
  for (const char c : answer) hash = mix(hash, static_cast<unsigned char>(c));
  for (const std::size_t number : {choice, call}) {
    for (int shift = 0; shift < 64; shift += 8) hash = mix(hash, (number >> shift) & 0xFFU);
  }
  hash ^= hash >> 32;  // mixes the last bytes into all digits
  std::string id(kLength, '0');
  for (char& c : id) {
    c = kDigits[hash % kDigits.size()];
    hash /= kDigits.size();
  }
  return id;
}

std::string call_id(std::string_view own, std::string_view answer, std::size_t choice,
                    std::size_t call) {
  return own.empty() ? call_id(answer, choice, call) : std::string(own);
}

}  // namespace weft
