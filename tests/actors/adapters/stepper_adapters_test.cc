#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/actors/stepper/stepper.h"
#include "weft/tests/actors/adapters/fake_adapters.h"
#include "weft/tests/actors/letter_fixture.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft::test {
namespace {

class StepperAdaptersTest : public LetterFixture {
 public:
  static Request request_for(const std::string& adapter) {
    Request request = LetterFixture::request();
    request.adapter = adapter;
    return request;
  }
  static std::vector<TokenId> expected_of(const std::string& content) {
    Request request = LetterFixture::request();
    *request.sampling.seed ^= fake_adapter(FakeAdapters::id_of(content));
    return LetterFixture::expected(request);
  }
};

TEST_F(StepperAdaptersTest, ReadsARequestsAdapterWhenTheRequestIsAdded) {
  FakeAdapters files;
  files.folder.write("sql", "sql");
  files.folder.write("poet", "poet");
  files.folder.write("bad", "bad");
  limits.adapter_places = 1;
  ServedModel model = letter_model(limits.context);
  model.adapters = std::make_shared<AdapterRegistry>(files.options());
  Stepper stepper(config, std::move(model), std::make_shared<FakeDevice>(device_options()));

  EXPECT_THAT(stepper.add(request_for("nobody")), FailsWith(EngineErrc::kNoSuchAdapter, "nobody"));
  EXPECT_THAT(stepper.add(request_for("bad")), FailsWith(EngineErrc::kAdapterFailed, "is bad"));
  ASSERT_TRUE(stepper.change_adapter(AdapterChange("mine", "poet")));
  std::map<RequestId, std::string> contents;
  contents[stepper.add(request_for("sql")).value()] = "sql";
  contents[stepper.add(request_for("mine")).value()] = "poet";
  ASSERT_EQ(stepper.adapters().size(), 2U);

  std::map<RequestId, std::vector<TokenId>> tokens;
  while (!stepper.idle()) {
    for (const StepOutput& output : stepper.infer()) {
      for (const Delta& delta : output.deltas) {
        tokens[output.id].insert(tokens[output.id].end(), delta.tokens.begin(), delta.tokens.end());
      }
    }
  }
  for (const auto& [id, content] : contents) EXPECT_EQ(tokens[id], expected_of(content)) << content;
}

}  // namespace
}  // namespace weft::test
