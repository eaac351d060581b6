#include "weft/config/config_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/config/config_error.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::FailsWith;

const ConfigKey& max_rows() { return *find_key("memory", "max_rows"); }
const ConfigKey& max_step_tokens() { return *find_key("memory", "max_step_tokens"); }

TEST(ConfigDraftTest, LetsTheLaterSourceWinAndRemembersIt) {
  ConfigDraft draft;
  EXPECT_EQ(draft.origin(max_rows()), "");
  ASSERT_TRUE(draft.read("[memory]\nmax_rows = 4\nmax_step_tokens = 64", "a.toml"));
  EXPECT_EQ(draft.origin(max_rows()), "a.toml:2");
  ASSERT_TRUE(draft.set(max_rows(), std::int64_t{5}, "--max-rows"));
  EXPECT_EQ(draft.origin(max_rows()), "--max-rows");
  EXPECT_EQ(draft.origin(max_step_tokens()), "a.toml:3");
  EXPECT_EQ(draft.config().engine.max_rows, 5);
  EXPECT_EQ(draft.finish().value().engine.max_step_tokens, 64);
}

TEST(ConfigDraftTest, NamesTheSourceOfAValueThatWillNotDo) {
  ConfigDraft draft;
  EXPECT_THAT(draft.set(max_rows(), std::int64_t{-5}, "--max-rows"),
              FailsWith(ConfigErrc::kBadConfig,
                        "--max-rows: memory.max_rows = -5: must be a whole number in 0 .. 65536"));
}

TEST(ConfigDraftTest, LooksAtValuesTogetherOnlyInTheEnd) {
  ConfigDraft draft;
  ASSERT_TRUE(draft.read("memory.max_rows = 1000", "a.toml"));
  EXPECT_THAT(draft.finish(), FailsWith(ConfigErrc::kBadConfig,
                                        "a.toml:1: memory.max_rows = 1000: must be at most"));
  ASSERT_TRUE(draft.set(max_step_tokens(), std::int64_t{1000}, "--max-step-tokens"));
  EXPECT_TRUE(draft.finish());
}

TEST(ConfigDraftTest, BlamesAKeyThatSomebodyHasSet) {
  for (const char* name : {"max_body_bytes", "max_message_bytes"}) {
    const std::string limit = "limits." + std::string(name);
    ConfigDraft draft;
    ASSERT_TRUE(draft.read("\n" + limit + " = 536870912", "a.toml"));
    EXPECT_THAT(draft.finish(),
                FailsWith(ConfigErrc::kBadConfig,
                          "a.toml:2: " + limit + " = 536870912: must be at most 268435456"));
  }
  ConfigDraft draft;
  ASSERT_TRUE(draft.read("limits.max_body_memory = 4096", "a.toml"));
  EXPECT_THAT(draft.finish(),
              FailsWith(ConfigErrc::kBadConfig,
                        "a.toml:1: limits.max_body_memory = 4096: must be at least 8388608"));
}

}  // namespace
}  // namespace weft
