#include "weft/jobs/random_name.h"

#include <random>
#include <string_view>

namespace weft {

std::string random_name() {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device entropy;
  std::uniform_int_distribution<std::size_t> place(0, kCharacters.size() - 1);
  std::string name(kRandomNameBytes, ' ');
  for (char& c : name) c = kCharacters[place(entropy)];
  return name;
}

}  // namespace weft
