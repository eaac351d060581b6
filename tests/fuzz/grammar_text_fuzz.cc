#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "weft/tests/grammar/walk_grammar.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::GrammarBuilder builder;
  const std::string_view text = weft::test::fuzz_text(data, size);
  const auto part = builder.grammar_text(text);
  weft::test::walk_grammar(std::move(builder), part, static_cast<std::uint32_t>(size));
  return 0;
}
