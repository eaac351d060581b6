#include "weft/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "weft/config/config_draft.h"
#include "weft/config/config_error.h"
#include "weft/core/io/file.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using test::FailsWith;
using test::TempFolder;

Result<Config> parse_config(std::string_view text) { return Config::parse(text, "weft.toml"); }

TEST(ConfigTest, IsValidAsItComes) {
  EXPECT_FALSE(Config().validate().has_error());
  EXPECT_TRUE(parse_config(""));
}

TEST(ConfigTest, ReadsKeysAndKeepsTheOthers) {
  const Config config = parse_config(R"(
    [model]
    path = "models/demo"
    [memory]
    max_rows = 64
    [scheduling]
    policy = "window:500"
  )")
                            .value();
  EXPECT_EQ(config.model, "models/demo");
  EXPECT_EQ(config.max_rows, 64);
  EXPECT_EQ(config.policy, BatchPolicy::kWindow);
  EXPECT_EQ(config.window, milliseconds(500));
  EXPECT_EQ(config.page_tokens, Config().page_tokens);
  EXPECT_EQ(config.device, Config().device);
}

TEST(ConfigTest, ReadsEachSpellingOfATable) {
  EXPECT_EQ(parse_config("memory = { max_rows = 3 }").value().max_rows, 3);
  EXPECT_EQ(parse_config("memory.max_rows = 3").value().max_rows, 3);
}

TEST(ConfigTest, NamesFileLineKeyValueAndRange) {
  EXPECT_THAT(
      parse_config("[memory]\n\npage_tokens = 0"),
      FailsWith(ConfigErrc::kBadConfig,
                "weft.toml:3: memory.page_tokens = 0: must be a whole number in 1 .. 4096"));
  EXPECT_THAT(parse_config("[memory]\nmax_rows = [4]"),
              FailsWith(ConfigErrc::kBadConfig, "weft.toml:2: memory.max_rows = a list"));
  EXPECT_THAT(parse_config("memory = 4"),
              FailsWith(ConfigErrc::kBadConfig, "weft.toml:1: memory must be a table"));
  EXPECT_THAT(parse_config("[[memory]]\nmax_rows = 4"),
              FailsWith(ConfigErrc::kBadConfig, "weft.toml:1: memory must be a table"));
  EXPECT_THAT(parse_config("a = = 1"), FailsWith(ConfigErrc::kBadToml, "weft.toml:1: "));
}

TEST(ConfigTest, NamesTheNearestKeyForOneThatThereIsNot) {
  const auto refused = [](std::string_view text, std::string_view detail) {
    EXPECT_THAT(parse_config(text), FailsWith(ConfigErrc::kUnknownConfigKey, std::string(detail)));
  };
  refused("[memory]\nmax_row = 4", "weft.toml:2: memory.max_row; the nearest is memory.max_rows");
  refused("[memory]\npolicy = 'static'",
          "weft.toml:2: memory.policy; the nearest is scheduling.policy");
  refused("\nmax_rows = 4", "weft.toml:2: max_rows; the nearest is memory.max_rows");
  refused("[memry]\nmax_rows = 4", "weft.toml:1: table memry; the nearest is memory");
  refused("[sheduler]\nmax_rows = 4", "weft.toml:1: table sheduler; the nearest is scheduling");
  refused("[memory.max_row]\nx = 4", "weft.toml:1: memory.max_row; the nearest is memory.max_rows");
}

TEST(ConfigTest, RefusesMoreRowsThanTicksCanAdvance) {
  EXPECT_TRUE(parse_config("[memory]\nmax_rows = 512\nmax_step_tokens = 512"));
  EXPECT_TRUE(
      parse_config("memory.max_rows = 1024\nmemory.max_step_tokens = 512\n"
                   "scheduling.decode_every = 2"));
  EXPECT_THAT(
      parse_config("[memory]\nmax_rows = 513\nmax_step_tokens = 512"),
      FailsWith(ConfigErrc::kBadConfig, "weft.toml:2: memory.max_rows = 513: must be at most 512"));
}

TEST(ConfigTest, RefusesACertificateWithoutItsKeyAndAKeyWithoutItsCertificate) {
  EXPECT_TRUE(parse_config("[server]\ntls_certificate = 'a'\ntls_key = 'b'"));
  EXPECT_THAT(parse_config("[server]\nport = 1\ntls_certificate = 'a'"),
              FailsWith(ConfigErrc::kBadConfig,
                        R"(weft.toml:3: server.tls_certificate = "a": needs server.tls_key)"));
  EXPECT_THAT(parse_config("[server]\ntls_key = 'a'"),
              FailsWith(ConfigErrc::kBadConfig,
                        R"(weft.toml:2: server.tls_key = "a": needs server.tls_certificate)"));
  EXPECT_TRUE(parse_config("[device]\nrank_tls_certificate = 'a'\nrank_tls_key = 'b'"));
  EXPECT_THAT(parse_config("[device]\nrank_tls_certificate = 'a'"),
              FailsWith(ConfigErrc::kBadConfig, "needs device.rank_tls_key"));
  EXPECT_THAT(parse_config("[device]\nrank_tls_key = 'a'"),
              FailsWith(ConfigErrc::kBadConfig, "needs device.rank_tls_certificate"));
  EXPECT_THAT(parse_config("[device]\nrank_tls_ca = 'a'"),
              FailsWith(ConfigErrc::kBadConfig, "needs device.rank_tls_certificate"));
}

TEST(ConfigTest, RefusesLargerBodiesThanAllTogetherMayBe) {
  EXPECT_TRUE(parse_config("[limits]\nmax_body_memory = 8388608"));
  EXPECT_THAT(parse_config("[limits]\nmax_message_bytes = 2048\nmax_body_memory = 8388607"),
              FailsWith(ConfigErrc::kBadConfig,
                        "weft.toml:3: limits.max_body_memory = 8388607: must be at least 8388608"));
}

TEST(ConfigTest, RefusesReplicasWhoseDevicesAreSaidTwice) {
  EXPECT_TRUE(parse_config("[device]\npartition = 'cpu,cpu'\nreplicas = 2"));
  EXPECT_TRUE(parse_config("[device]\nreplicas = 'cuda:0; cuda:1'"));
  EXPECT_THAT(
      parse_config("[device]\nreplicas = 'cuda:0; cuda:1'\nname = 'cuda:0'"),
      FailsWith(ConfigErrc::kBadConfig,
                R"(weft.toml:2: device.replicas = "cuda:0; cuda:1": says where each replica )"
                "runs, and so does device.name"));
  EXPECT_THAT(parse_config("[device]\npartition = 'cpu,cpu'\nreplicas = 'cpu; cpu'"),
              FailsWith(ConfigErrc::kBadConfig, "so does device.partition"));
  EXPECT_THAT(parse_config("[device]\nreplicas = 2\n[scheduling]\npolicy = 'instances'"),
              FailsWith(ConfigErrc::kBadConfig,
                        "weft.toml:2: device.replicas = 2: the policy "
                        "instances makes replicas of its own"));
}

// So a file of `weft serve` is a file for an application, too.
TEST(ConfigTest, ChecksTheTablesOfAServerAndLeavesThemOut) {
  const auto config = parse_config("memory.max_rows = 3\nserver.port = 80\nlog.level = 'debug'");
  EXPECT_EQ(config.value().max_rows, 3);
  EXPECT_THAT(parse_config("server.port = -1"),
              FailsWith(ConfigErrc::kBadConfig, "weft.toml:1: server.port = -1: must be"));
}

TEST(FileConfigTest, HasTheTablesOfAServerBesideTheEngines) {
  ConfigDraft draft;
  ASSERT_TRUE(draft.read(R"(
    memory.max_rows = 3
    server = { host = "::1", port = 0, web_page = false, drain_timeout_s = 0.5 }
    auth.api_key = "sesame"
    limits.max_stored_bytes = 1
    log.level = "debug"
  )",
                         "weft.toml"));
  const auto [engine, server, models] = draft.finish().value();
  EXPECT_EQ(engine.max_rows, 3);
  EXPECT_EQ(server.host, "::1");
  EXPECT_EQ(server.port, 0);
  EXPECT_FALSE(server.web_page);
  EXPECT_EQ(server.drain_timeout, milliseconds(500));
  EXPECT_EQ(server.api_key, "sesame");
  EXPECT_EQ(server.max_stored_bytes, 1);
  EXPECT_EQ(server.log_level, "debug");
}

TEST(ConfigTest, ChecksWhatAProgramFilledIn) {
  Config config;
  config.memory_fraction = 2;
  EXPECT_THAT(config.validate(), FailsWith(ConfigErrc::kBadConfig,
                                           "memory.fraction = 2: must be a number in 0.01 .. 1"));
}

TEST(ConfigLoadTest, ReadsAFileAndNamesItInErrors) {
  const TempFolder folder;
  EXPECT_EQ(Config::load(folder.write("good.toml", "memory.max_rows = 5")).value().max_rows, 5);
  const auto bad = folder.write("bad.toml", "memory.max_rows = -5");
  EXPECT_THAT(Config::load(bad),
              FailsWith(ConfigErrc::kBadConfig, bad.string() + ":1: memory.max_rows = -5"));
  EXPECT_THAT(Config::load(folder.path() / "none.toml"),
              FailsWith(FileErrc::kCannotRead, "none.toml"));
}

TEST(ConfigTest, RefusesAdaptersWithoutANameOrAPathOrWithOneNameTwice) {
  for (const char* text : {"a", "=p", "a=", "a=p; a=q", "../a=p", "a b=p", ".a=p", "a=p;"}) {
    EXPECT_THAT(parse_config(std::string("[adapters]\nnamed = '") + text + "'"),
                FailsWith(ConfigErrc::kBadConfig, "weft.toml:2: adapters.named"))
        << text;
  }
  EXPECT_THAT(parse_config("[adapters]\nnamed.a = 'p; b=q; b=r'"),
              FailsWith(ConfigErrc::kBadConfig, "adapters.named"));
  EXPECT_THAT(parse_config("[adapters]\nnamed.a = 3"),
              FailsWith(ConfigErrc::kBadConfig, "adapters.named"));
}

}  // namespace
}  // namespace weft
