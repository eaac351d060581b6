#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "weft/tests/grammar/walk_grammar.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::GrammarBuilder builder;
  const std::string_view text = weft::test::fuzz_text(data, size);
  const auto part = builder.regex(text);
  weft::test::walk_grammar(std::move(builder), part, static_cast<std::uint32_t>(size));

  // As a schema's pattern, which a lenient reader lets pass where it is not understood.
  weft::GrammarBuilder lenient_builder;
  const boost::json::value schema{{"pattern", text}, {"maxLength", 3}};
  const auto lenient =
      lenient_builder.parsed_json_schema(schema, "schema", weft::Strictness::kLenient);
  weft::test::walk_grammar(std::move(lenient_builder), lenient, static_cast<std::uint32_t>(size));
  return 0;
}
