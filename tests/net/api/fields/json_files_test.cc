#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "weft/core/io/file.h"
#include "weft/net/api/chat/chat_request.h"
#include "weft/net/api/completions/completion_request.h"
#include "weft/net/api/responses/response_request.h"
#include "weft/tests/fixture/source_path.h"
#include "weft/tests/net/api/api_fixture.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

/// JSON texts that are valid (y_), invalid (n_) and either (i_); not part of the tree.
const std::string folder = source_path("../shared/data/json/test_parsing");
constexpr std::size_t kMostBytes = std::size_t{8} << 20;

class JsonFilesTest : public ApiFixture {
 public:
  void SetUp() override {
    if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder;
  }

  /// Lets every decoder read an object: nothing crashes, and every refusal is well formed.
  void decode(simdjson::dom::object object) const {
    static_cast<void>(verdict(read_chat(object, context)));
    static_cast<void>(verdict(read_completion(object, context)));
    static_cast<void>(verdict(read_response(object, context, nullptr, true)));
  }
};

TEST_F(JsonFilesTest, EveryTextIsTakenOrRefusedAsItShould) {
  int valid = 0;
  int invalid = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const std::string text = read_text_file(entry.path(), kMostBytes).value();
    const auto parsed = parser.parse(text);
    const std::string said = verdict(parsed);
    if (name.starts_with("y_")) {
      const bool is_object = text.find_first_not_of(" \t\r\n") == text.find('{');
      // JSON does not define the meaning of a repeated field, so other readers may read it
      // differently.
      const bool is_doubtful = name.find("duplicated_key") != std::string::npos;
      EXPECT_EQ(said, is_doubtful ? "a duplicate_parameter"
                      : is_object ? "200"
                                  : "- invalid_type")
          << name;
      ++valid;
    }
    if (name.starts_with("n_")) {
      EXPECT_EQ(said, "- invalid_json") << name;
      ++invalid;
    }
    if (parsed) decode(*parsed);
  }
  EXPECT_GT(valid, 40);
  EXPECT_GT(invalid, 90);
}

// Uses the same files as the value of a field in which objects and lists may have any shape.
TEST_F(JsonFilesTest, NoValueOfAFieldDoesHarm) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string value = read_text_file(entry.path(), kMostBytes).value();
    for (const char* field : {"messages", "prompt", "input", "stop", "logit_bias", "tools",
                              "chat_template_kwargs", "text", "metadata"}) {
      const std::string text = "{\"" + std::string(field) + "\":" + value + "}";
      const auto parsed = parser.parse(text);
      if (parsed) decode(*parsed);
    }
  }
}

}  // namespace
}  // namespace weft::test
