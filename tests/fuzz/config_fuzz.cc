#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/config/config.h"
#include "weft/config/config_draft.h"
#include "weft/config/config_print.h"
#include "weft/config/keys/config_schema.h"
#include "weft/tests/fixture/fuzz_input.h"

// An accepted file is valid, and its printed form reads back equal except for secrets.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = weft::test::fuzz_text(data, size);
  const auto config = weft::Config::parse(text, "input");
  if (!weft::test::accepted(config)) return 0;
  weft::test::fuzz_require(config->validate().has_value());
  weft::ConfigDraft draft;
  weft::test::fuzz_require(draft.read(text, "input").has_value());
  weft::ConfigDraft again;
  const std::string printed = print_config(draft, weft::PrintedKeys::kChanged);
  weft::test::fuzz_require(again.read(printed, "printed").has_value());
  weft::test::fuzz_require(again.finish().has_value());
  for (const weft::ConfigKey& key : weft::config_schema()) {
    if (is_secret(key.setting)) continue;
    weft::test::fuzz_require(toml_of(key.setting, draft.config()) ==
                             toml_of(key.setting, again.config()));
  }
  return 0;
}
