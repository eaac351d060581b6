#include <cmath>
#include <cstddef>
#include <cstdint>

#include "weft/core/text/utf8.h"
#include "weft/tests/fixture/fuzz_input.h"
#include "weft/text/tokenizer/sentencepiece/sentencepiece_model.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weft::test::fuzz_require;
  const auto model = weft::read_sentencepiece_model(weft::test::fuzz_text(data, size), "input");
  if (!weft::test::accepted(model)) return 0;
  fuzz_require(!model->pieces.empty());
  for (const auto& piece : model->pieces) {
    fuzz_require(weft::is_utf8(piece.text) && !piece.text.empty() && std::isfinite(piece.score));
  }
  return 0;
}
