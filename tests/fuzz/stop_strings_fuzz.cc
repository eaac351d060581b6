#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tests/fixture/fuzz_input.h"
#include "weft/text/output/stop_strings.h"

namespace weft {
namespace {

struct Kept {
  std::string text;
  std::optional<std::size_t> hit;
};

/// Feeds the text in parts of so many bytes.
Kept streamed(const StopStrings& stops, std::string_view text, std::size_t part) {
  StopScanner scanner(stops);
  Kept kept;
  for (std::size_t at = 0; at < text.size(); at += part) {
    scanner.feed(text.substr(at, part), kept.text);
  }
  kept.hit = scanner.flush(kept.text);
  return kept;
}

/// Takes an input of stop strings, a zero byte behind each, and an output.
void stop(std::string_view input) {
  std::vector<std::string> texts;
  for (std::size_t zero = 0; (zero = input.find('\0')) != std::string_view::npos;) {
    texts.emplace_back(input.substr(0, zero));
    input.remove_prefix(zero + 1);
  }
  const auto stops = StopStrings::compile(texts);
  if (!test::accepted(stops)) return;
  std::size_t earliest = input.size();
  for (const std::string& text : texts) earliest = std::min(earliest, input.find(text));
  for (const std::size_t part : {std::size_t{1}, std::size_t{7}, input.size() + 1}) {
    const Kept kept = streamed(*stops, input, part);
    test::fuzz_require(kept.text == input.substr(0, earliest));
    test::fuzz_require(kept.hit.has_value() == (earliest < input.size()));
    if (kept.hit) {
      test::fuzz_require(input.substr(earliest).starts_with(stops->text(*kept.hit)));
    }
  }
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::stop(weft::test::fuzz_text(data, size));
  return 0;
}
