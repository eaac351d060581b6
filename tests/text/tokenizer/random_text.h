#pragma once

#include <array>
#include <random>
#include <string>
#include <string_view>

#include "weft/core/text/utf8.h"

namespace weft::test {

/// Text of runs from alphabets that splitters tell apart: letters, digits, spaces, newlines, signs,
/// marks, other scripts, emoji. Valid UTF-8.
inline std::string random_text(std::mt19937& random, int runs) {
  constexpr auto kAlphabets = std::to_array<std::u32string_view>({
      U"abcxyzst",
      U"ABCDSTMLV",
      U"'''sStTrReEvVmMlLdD\u017F",
      U"0123456789\u00BD\u0661\u2177",
      U"    ",
      U"\t \u00A0\u3000\u2028\u0085",
      U"\n\r\n",
      U".,!?-_()[]{}<>/\\|@#$%^&*+=~`\"",
      U"\u0301\u0308\u0323\u0E47",
      U"\u6F22\u5B57\u304B\u30AB\u30FC\uD55C",
      U"\u0436\u0429\u03C3\u03A3\u0130\u1E9E",
      U"\U0001F680\u200D\uFE0F\U0001F468",
      U"\u0001\u0007\u200B\uFEFF\uFFFD\uE000",
  });
  std::string text;
  for (int run = 0; run < runs; ++run) {
    const auto& alphabet = kAlphabets[random() % kAlphabets.size()];
    for (auto left = 1 + random() % 5; left > 0; --left) {
      append_utf8(text, alphabet[random() % alphabet.size()]);
    }
  }
  return text;
}

}  // namespace weft::test
