#include "weft/cli/backend_options.h"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>

#include "weft/config/config_error.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::cli {
namespace {

Result<Config> backend_config(const std::string& command_line) {
  CLI::App app;
  BackendOptions options;
  add_backend_options(app, options);
  app.parse(command_line);
  return engine_config(options);
}

TEST(BackendOptions, RunsAModelAsItsFileItsVariablesAndItsFlagsSay) {
  const test::TempFolder folder;
  const std::string file =
      folder.write("a.toml", "model.path = 'other'\n[device]\nthreads = 4\n[memory]\nmax_rows = 2")
          .string();
  ::setenv("WEFT_CONFIG", file.c_str(), 1);
  ::setenv("WEFT_MEMORY_MAX_ROWS", "3", 1);
  const auto plain = backend_config("models/demo");
  const auto flag = backend_config("models/demo --threads 0");
  ::setenv("WEFT_MEMORY_MAX_ROWS", "few", 1);
  const auto wrong = backend_config("models/demo");
  ::unsetenv("WEFT_CONFIG");
  ::unsetenv("WEFT_MEMORY_MAX_ROWS");
  ASSERT_TRUE(plain) << to_string(plain.error());
  EXPECT_EQ(plain->model, "models/demo");
  EXPECT_EQ(plain->threads, 4);
  EXPECT_EQ(plain->max_rows, 3);
  EXPECT_EQ(flag->threads, 0);
  EXPECT_THAT(wrong, test::FailsWith(ConfigErrc::kBadConfig, "WEFT_MEMORY_MAX_ROWS: "));
}

TEST(BackendOptions, LeavesTheModelsPathToItsPlace) {
  EXPECT_EQ(engine_schema().front().path(), "model.path");
  EXPECT_EQ(backend_config("models/demo --model mine")->model, "models/demo");
}

}  // namespace
}  // namespace weft::cli
