#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "weft/tests/grammar/walk_grammar.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = weft::test::fuzz_text(data, size);
  weft::GrammarBuilder builder;
  const auto part = builder.json_schema(text, "schema");
  const bool is_supported = static_cast<bool>(part);
  weft::test::walk_grammar(std::move(builder), part, static_cast<std::uint32_t>(size));

  weft::GrammarBuilder lenient_builder;
  const auto lenient = lenient_builder.json_schema(text, "schema", weft::Strictness::kLenient);
  // A lenient reader takes every schema that a strict reader takes.
  weft::test::fuzz_require(!is_supported || lenient);
  weft::test::walk_grammar(std::move(lenient_builder), lenient, static_cast<std::uint32_t>(size));
  return 0;
}
