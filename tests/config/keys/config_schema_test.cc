#include "weft/config/keys/config_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "weft/config/replicas_text.h"

namespace weft {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::Optional;

const Setting& setting(std::string_view path) {
  const auto found = std::ranges::find(config_schema(), path, &ConfigKey::path);
  EXPECT_NE(found, config_schema().end()) << path;
  return found->setting;
}

/// Returns assign()'s complaint about a value, "" when there is none.
std::string wrong(std::string_view path, const ConfigValue& value) {
  FileConfig config;
  const Complaint complaint = assign(setting(path), value, config);
  // A value that is refused changes nothing, and one that is taken passes the check.
  const std::string standard = value_of(setting(path), FileConfig());
  if (complaint) {
    EXPECT_EQ(value_of(setting(path), config), standard);
    return *complaint;
  }
  EXPECT_EQ(check(setting(path), config), std::nullopt);
  return "";
}

TEST(ConfigSchemaTest, HasEachKeyOnceAndTablesTogether) {
  std::set<std::string> paths;
  std::set<std::string_view> tables;
  std::string_view table;
  for (const ConfigKey& key : config_schema()) {
    EXPECT_TRUE(paths.insert(key.path()).second) << key.path();
    const bool goes_on = key.table == table;
    EXPECT_TRUE(goes_on || tables.insert(key.table).second) << key.table;
    table = key.table;
  }
}

// A new field in either struct does not compile here; then it needs a key as well.
TEST(ConfigSchemaTest, HasAKeyForEachFieldOfEngineAndServer) {
  const auto& [model, spec, weights, adapter, generation_config, device, partition, replicas,
               rank_timeout, rank_chain, rank_key, rank_ca, transport, threads, tuning, rounds,
               fraction, budget, rows, pages, page_tokens, context, step_tokens, dtype, layout,
               placement, cache, share, host_bytes, folder, folder_bytes, named, adapter_folder,
               any_path, uploads, places, rank, adapter_bytes, policy, window, instances, admission,
               watermark, target, every, jump, speculation, drafter, guesses, prediction, outputs,
               training, bound, tuned, file_bytes, files_bytes, files, jobs, checkpoint_steps,
               structured, requests, tokens, workers, bytes] = Config();
  const std::initializer_list<const void*> fields = {&model,
                                                     &spec,
                                                     &device,
                                                     &threads,
                                                     &tuning,
                                                     &fraction,
                                                     &budget,
                                                     &rows,
                                                     &pages,
                                                     &page_tokens,
                                                     &context,
                                                     &step_tokens,
                                                     &dtype,
                                                     &layout,
                                                     &placement,
                                                     &policy,
                                                     &window,
                                                     &instances,
                                                     &admission,
                                                     &watermark,
                                                     &target,
                                                     &every,
                                                     &requests,
                                                     &tokens,
                                                     &workers,
                                                     &bytes,
                                                     &generation_config,
                                                     &partition,
                                                     &rank_timeout,
                                                     &replicas,
                                                     &cache,
                                                     &share,
                                                     &host_bytes,
                                                     &folder,
                                                     &folder_bytes,
                                                     &rank_chain,
                                                     &rank_key,
                                                     &rank_ca,
                                                     &transport,
                                                     &jump,
                                                     &structured,
                                                     &weights,
                                                     &speculation,
                                                     &drafter,
                                                     &guesses,
                                                     &prediction,
                                                     &outputs,
                                                     &adapter,
                                                     &rounds,
                                                     &named,
                                                     &adapter_folder,
                                                     &any_path,
                                                     &uploads,
                                                     &places,
                                                     &rank,
                                                     &adapter_bytes,
                                                     &training,
                                                     &bound,
                                                     &tuned,
                                                     &file_bytes,
                                                     &files_bytes,
                                                     &files,
                                                     &jobs,
                                                     &checkpoint_steps};
  const auto& [host, port, path, certificate, key, io, name, loaded, page, names, origins, deflate,
               drain, api_key, key_file, connections, own_connections, own_requests, header_bytes,
               header_fields, body_bytes, message_bytes, body_memory, streams, unread, header_time,
               body_rate, idle_time, write_time, ping, stream_ping, stored, stored_bytes, kept,
               kept_bytes, level, format, prompts] = ServerConfig();
  const std::initializer_list<const void*> server_fields = {&host,
                                                            &port,
                                                            &path,
                                                            &certificate,
                                                            &key,
                                                            &io,
                                                            &name,
                                                            &loaded,
                                                            &page,
                                                            &names,
                                                            &origins,
                                                            &deflate,
                                                            &drain,
                                                            &api_key,
                                                            &key_file,
                                                            &connections,
                                                            &own_connections,
                                                            &own_requests,
                                                            &header_bytes,
                                                            &header_fields,
                                                            &body_bytes,
                                                            &message_bytes,
                                                            &body_memory,
                                                            &streams,
                                                            &unread,
                                                            &header_time,
                                                            &body_rate,
                                                            &idle_time,
                                                            &write_time,
                                                            &ping,
                                                            &stream_ping,
                                                            &stored,
                                                            &stored_bytes,
                                                            &kept,
                                                            &kept_bytes,
                                                            &level,
                                                            &format,
                                                            &prompts};
  EXPECT_EQ(config_schema().size() + 1,  // policy and window share a key
            fields.size() + server_fields.size());
}

TEST(ConfigSchemaTest, HasAnEnginesKeysFirst) {
  std::set<std::string_view> tables;
  for (const ConfigKey& key : engine_schema()) tables.insert(key.table);
  EXPECT_EQ(tables,
            (std::set<std::string_view>{"adapters", "cache", "device", "edge", "memory", "model",
                                        "scheduling", "speculation", "structured", "training"}));
  EXPECT_EQ(engine_schema().data(), config_schema().data());
}

TEST(ConfigSchemaTest, SaysOfEachKeyWhatItIsAndWhy) {
  for (const ConfigKey& key : config_schema()) {
    for (const std::string_view text : {key.what, key.why}) {
      ASSERT_FALSE(text.empty()) << key.path();
      EXPECT_NE(text.back(), '.') << key.path();
    }
  }
}

TEST(ConfigSchemaTest, HasAFlagAndAVariableOfItsOwnForEachKey) {
  std::set<std::string> flags = {"--help", "--config", "--changed"};
  std::set<std::string> variables = {"WEFT_CONFIG"};
  for (const ConfigKey& key : config_schema()) {
    EXPECT_TRUE(flags.insert(key.flag()).second) << key.flag() << " is taken, for " << key.path();
    EXPECT_TRUE(variables.insert(key.variable()).second) << key.variable();
  }
  const auto names = [](std::string_view table, std::string_view name) {
    const ConfigKey* const key = find_key(table, name);
    return key == nullptr ? "" : key->flag() + " " + key->variable();
  };
  EXPECT_EQ(names("memory", "max_rows"), "--max-rows WEFT_MEMORY_MAX_ROWS");
  EXPECT_EQ(names("device", "name"), "--device WEFT_DEVICE_NAME");
  EXPECT_EQ(names("log", "level"), "--log-level WEFT_LOG_LEVEL");
  EXPECT_EQ(names("auth", "api_key"), "--api-key WEFT_AUTH_API_KEY");
  EXPECT_EQ(find_key("auth", "level"), nullptr);
}

// Each key changes its own value and no other's.
TEST(ConfigSchemaTest, SetsTheFieldThatAKeyNames) {
  const auto other_value = [](const Setting& one) -> ConfigValue {
    if (std::holds_alternative<TextSetting>(one)) return "other";
    if (const auto* flag = std::get_if<FlagSetting>(&one)) return !flag->member.of(FileConfig());
    if (const auto* integer = std::get_if<IntegerSetting>(&one)) return integer->high;
    if (const auto* number = std::get_if<NumberSetting>(&one)) return number->high;
    if (const auto* time = std::get_if<TimeSetting>(&one)) return time->high;
    if (const auto* choice = std::get_if<ChoiceSetting>(&one)) {
      return std::string(choice->names.back());
    }
    if (std::holds_alternative<AdaptersSetting>(one)) return "sql=path";
    return "window:7";
  };
  for (const ConfigKey& key : config_schema()) {
    FileConfig config;
    ASSERT_EQ(assign(key.setting, other_value(key.setting), config), std::nullopt) << key.path();
    for (const ConfigKey& each : config_schema()) {
      const bool changed = value_of(each.setting, config) != value_of(each.setting, FileConfig());
      EXPECT_EQ(changed, each.path() == key.path()) << key.path() << " and " << each.path();
    }
  }
}

TEST(ConfigSchemaTest, TakesWholeNumbersUpToTheirBounds) {
  for (const ConfigKey& key : config_schema()) {
    const auto* integer = std::get_if<IntegerSetting>(&key.setting);
    if (integer == nullptr) continue;
    EXPECT_EQ(wrong(key.path(), integer->low), "");
    EXPECT_EQ(wrong(key.path(), integer->high), "");
    EXPECT_NE(wrong(key.path(), integer->low - 1), "") << key.path();
    EXPECT_NE(wrong(key.path(), integer->high + 1), "") << key.path();
  }
  EXPECT_EQ(wrong("memory.page_tokens", std::int64_t{0}), "0: must be a whole number in 1 .. 4096");
  EXPECT_EQ(wrong("memory.page_tokens", 16.0), "16: must be a whole number in 1 .. 4096");
  EXPECT_EQ(wrong("memory.page_tokens", true), "true: must be a whole number in 1 .. 4096");
  EXPECT_EQ(wrong("memory.page_tokens", ConfigValue()),
            "a list, table or date: must be a whole number in 1 .. 4096");
}

TEST(ConfigSchemaTest, TakesNumbersUpToTheirBounds) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(wrong("memory.fraction", 0.01), "");
  EXPECT_EQ(wrong("memory.fraction", std::int64_t{1}), "");
  EXPECT_EQ(wrong("memory.fraction", 1.5), "1.5: must be a number in 0.01 .. 1");
  EXPECT_EQ(wrong("memory.fraction", kInfinity), "inf: must be a number in 0.01 .. 1");
  EXPECT_EQ(wrong("memory.fraction", std::numeric_limits<double>::quiet_NaN()),
            "nan: must be a number in 0.01 .. 1");
  EXPECT_EQ(wrong("memory.fraction", "most"), "\"most\": must be a number in 0.01 .. 1");
}

TEST(ConfigSchemaTest, TakesMillisecondsAndTheirFractions) {
  FileConfig config;
  EXPECT_EQ(assign(setting("scheduling.target_inter_token_ms"), 2.5, config), std::nullopt);
  EXPECT_EQ(config.engine.target_inter_token, microseconds(2'500));
  EXPECT_EQ(assign(setting("scheduling.target_inter_token_ms"), std::int64_t{3}, config),
            std::nullopt);
  EXPECT_EQ(config.engine.target_inter_token, milliseconds(3));
  EXPECT_EQ(wrong("scheduling.target_inter_token_ms", 0.05),
            "0.05: must be a number in 0.1 .. 60000");
}

TEST(ConfigSchemaTest, TakesSecondsAndTheirFractions) {
  FileConfig config;
  EXPECT_EQ(assign(setting("server.drain_timeout_s"), 1.5, config), std::nullopt);
  EXPECT_EQ(config.server.drain_timeout, microseconds(1'500'000));
  EXPECT_EQ(value_of(setting("server.drain_timeout_s"), config), "1.5");
}

TEST(ConfigSchemaTest, TakesTrueOrFalseForAFlag) {
  FileConfig config;
  EXPECT_EQ(assign(setting("server.web_page"), false, config), std::nullopt);
  EXPECT_FALSE(config.server.web_page);
  EXPECT_EQ(wrong("server.web_page", "no"), "\"no\": must be one of true, false");
  EXPECT_EQ(wrong("server.web_page", std::int64_t{1}), "1: must be one of true, false");
}

TEST(ConfigSchemaTest, ShowsNoSecret) {
  FileConfig config;
  EXPECT_EQ(value_of(setting("auth.api_key"), config), R"("")");
  EXPECT_EQ(assign(setting("auth.api_key"), "sesame", config), std::nullopt);
  EXPECT_EQ(value_of(setting("auth.api_key"), config), "...");
  EXPECT_EQ(toml_of(setting("auth.api_key"), config), R"("sesame")");
  EXPECT_EQ(wrong("auth.api_key", std::int64_t{1234}), "...: must be any text");
}

TEST(ConfigSchemaTest, ReadsWhatACommandLineSaysAsAFileWouldHaveIt) {
  using namespace std::string_literals;
  const auto value = [](std::string_view path, std::string_view text) {
    return value_from_text(setting(path), text);
  };
  EXPECT_EQ(value("memory.max_rows", "64"), ConfigValue(std::int64_t{64}));
  EXPECT_EQ(value("memory.max_rows", "-1"), ConfigValue(std::int64_t{-1}));
  EXPECT_EQ(value("memory.max_rows", "64k"), ConfigValue("64k"s));
  EXPECT_EQ(value("memory.max_rows", "99999999999999999999"), ConfigValue("99999999999999999999"s));
  EXPECT_EQ(value("memory.fraction", "0.5"), ConfigValue(0.5));
  EXPECT_EQ(value("scheduling.target_inter_token_ms", "25"), ConfigValue(25.0));
  EXPECT_EQ(value("memory.fraction", "half"), ConfigValue("half"s));
  EXPECT_EQ(value("server.web_page", "true"), ConfigValue(true));
  EXPECT_EQ(value("server.web_page", "false"), ConfigValue(false));
  EXPECT_EQ(value("server.web_page", "yes"), ConfigValue("yes"s));
  EXPECT_EQ(value("server.model_name", "64"), ConfigValue("64"s));
  EXPECT_EQ(value("scheduling.policy", "window:5"), ConfigValue("window:5"s));
}

TEST(ConfigSchemaTest, TakesTheNamesOfAChoiceOnly) {
  FileConfig config;
  EXPECT_EQ(assign(setting("memory.kv_dtype"), "bf16", config), std::nullopt);
  EXPECT_EQ(config.engine.kv_dtype, DType::kBF16);
  EXPECT_EQ(assign(setting("memory.kv_dtype"), "int8", config), std::nullopt);
  EXPECT_EQ(config.engine.kv_dtype, DType::kI8);
  EXPECT_EQ(assign(setting("memory.kv_dtype"), "fp8", config), std::nullopt);
  EXPECT_EQ(config.engine.kv_dtype, DType::kF8_E4M3);
  EXPECT_EQ(assign(setting("memory.kv_dtype"), "auto", config), std::nullopt);
  EXPECT_EQ(config.engine.kv_dtype, std::nullopt);
  EXPECT_EQ(assign(setting("memory.kv_layout"), "slab", config), std::nullopt);
  EXPECT_EQ(config.engine.kv_layout, KvLayout::kSlab);
  EXPECT_EQ(assign(setting("memory.kv_placement"), "host", config), std::nullopt);
  EXPECT_EQ(config.engine.kv_placement, KvPlacement::kHost);
  EXPECT_EQ(assign(setting("scheduling.admission"), "reserve", config), std::nullopt);
  EXPECT_EQ(config.engine.admission, AdmissionMode::kReserve);
  EXPECT_EQ(wrong("memory.kv_dtype", "q8_0"),
            "\"q8_0\": must be one of \"auto\", \"f32\", \"f16\", \"bf16\", \"int8\", \"fp8\"");
  EXPECT_EQ(wrong("memory.kv_dtype", std::int64_t{16}),
            "16: must be one of \"auto\", \"f32\", \"f16\", \"bf16\", \"int8\", \"fp8\"");
}

TEST(ConfigSchemaTest, TakesAPolicyByNameOrAWindowInMilliseconds) {
  const auto chosen = [](const std::string& text) {
    FileConfig config;
    EXPECT_EQ(assign(setting("scheduling.policy"), text, config), std::nullopt) << text;
    return std::pair(config.engine.policy, config.engine.window);
  };
  EXPECT_EQ(chosen("fusion"), std::pair(BatchPolicy::kFusion, milliseconds(0)));
  EXPECT_EQ(chosen("static"), std::pair(BatchPolicy::kStatic, milliseconds(0)));
  EXPECT_EQ(chosen("instances"), std::pair(BatchPolicy::kInstances, milliseconds(0)));
  EXPECT_EQ(chosen("window:500"), std::pair(BatchPolicy::kWindow, milliseconds(500)));
  for (const char* text : {"window", "window:", "window:0", "window:60001", "window:5ms",
                           "window:-1", "window: 5", "window:99999999999999999999", "Fusion", ""}) {
    EXPECT_NE(wrong("scheduling.policy", text), "") << text;
  }
}

TEST(ConfigSchemaTest, TakesANumberOfReplicasOrTheirDevices) {
  const auto devices = [](const ConfigValue& value) {
    FileConfig config;
    config.engine.device = "cuda:3";
    EXPECT_EQ(assign(setting("device.replicas"), value, config), std::nullopt);
    return replica_devices(config.engine).value();
  };
  using Devices = std::vector<std::string>;
  EXPECT_EQ(devices(std::int64_t{2}), (Devices{"cuda:3", "cuda:3"}));
  EXPECT_EQ(devices("1"), Devices{"cuda:3"});
  EXPECT_EQ(devices("cuda:0; cuda:1"), (Devices{"cuda:0", "cuda:1"}));
  EXPECT_EQ(devices(" cpu,cpu | cpu ;cpu,cpu|cpu "), (Devices{"cpu,cpu | cpu", "cpu,cpu|cpu"}));
  for (const char* text : {"", ";", "cpu;", ";cpu", "cpu;;cpu", "0", "-1", "65", "2.5", "2; cpu",
                           "99999999999999999999"}) {
    EXPECT_NE(wrong("device.replicas", text), "") << text;
  }
  EXPECT_EQ(wrong("device.replicas", std::int64_t{0}),
            "0: must be 1 .. 64, or devices between semicolons");
  EXPECT_EQ(wrong("device.replicas", true), "true: must be 1 .. 64, or devices between semicolons");
  FileConfig config;
  config.engine.replicas = "2";
  EXPECT_EQ(toml_of(setting("device.replicas"), config), "2");
  EXPECT_EQ(replica_devices_text(config.engine), "cpu; cpu");
  config.engine.replicas = "cuda:0; cuda:1";
  EXPECT_EQ(toml_of(setting("device.replicas"), config), "\"cuda:0; cuda:1\"");
}

TEST(ConfigSchemaTest, CutsALongValueBetweenCharacters) {
  std::string text(59, 'a');
  for (int i = 0; i < 1'000; ++i) text += "\u6F22";
  const std::string complaint = wrong("memory.kv_dtype", text);
  EXPECT_TRUE(complaint.starts_with('"' + std::string(59, 'a') + "...\": must")) << complaint;
}

TEST(ConfigSchemaTest, ChecksTheValuesThatAProgramPutIn) {
  FileConfig config;
  config.engine.kv_dtype = DType::kQ8_0;
  config.engine.kv_layout = static_cast<KvLayout>(9);
  config.engine.kv_placement = static_cast<KvPlacement>(9);
  config.engine.policy = BatchPolicy::kWindow;
  config.engine.watermark = std::numeric_limits<double>::quiet_NaN();
  config.engine.max_prompt_bytes = -1;
  config.engine.replicas = "cpu;";
  config.engine.target_inter_token = microseconds(0);
  for (const char* path : {"memory.kv_dtype", "memory.kv_layout", "memory.kv_placement",
                           "scheduling.policy", "scheduling.watermark", "device.replicas",
                           "edge.max_prompt_bytes", "scheduling.target_inter_token_ms"}) {
    EXPECT_TRUE(check(setting(path), config)) << path;
  }
  EXPECT_THAT(check(setting("scheduling.policy"), config),
              Optional(testing::StartsWith("\"window:0\": must be one of \"fusion\"")));
}

}  // namespace
}  // namespace weft
