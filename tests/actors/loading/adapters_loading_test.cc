// Adapters of a configuration, when a model is loaded.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/loading/loaded_model.h"
#include "weft/gpu/device_error.h"
#include "weft/tests/fixture/peft_folder.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/source_path.h"

namespace weft::test {
namespace {

/// An adapter of the golden llama's first query, of this rank.
PeftFolder adapter_of(std::int64_t rank) {
  return PeftFolder(
      R"({"target_modules": ["q_proj"], "lora_alpha": 1, "r": )" + std::to_string(rank) + "}",
      pair_of(kQuery, 16, 8, rank));
}

Config config_with(const PeftFolder& adapter) {
  Config config;
  config.model = source_path("tests/model/data/goldens/llama");
  config.partition = "cpu";
  config.max_pages = 64;
  config.adapters = {{"sql", adapter.path().string()}};
  return config;
}

TEST(AdaptersLoadingTest, TheRankOfPlacesIsDerivedUpToABound) {
  const PeftFolder fits = adapter_of(256);
  const auto loaded = load_configured_model(config_with(fits));
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  EXPECT_EQ(loaded->model.adapters->list().front().rank, 256);

  const PeftFolder large = adapter_of(257);
  Config config = config_with(large);
  EXPECT_THAT(load_configured_model(config),
              FailsWith(DeviceErrc::kUnfit, "adapters.named[sql]: its rank is 257"));
  config.adapter_max_rank = 257;
  EXPECT_TRUE(load_configured_model(config));
  config.adapter_max_rank = 256;
  EXPECT_THAT(load_configured_model(config),
              FailsWith(EngineErrc::kAdapterFailed, "adapters.named[sql]: "));
}

TEST(AdaptersLoadingTest, AnErrorOfAConfiguredAdapterNamesItsKey) {
  const PeftFolder broken("{", {});
  const auto loaded = load_configured_model(config_with(broken));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().detail.find("adapters.named[sql]: "), 0U) << loaded.error().detail;
  EXPECT_NE(loaded.error().detail.find("adapter_config.json"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
