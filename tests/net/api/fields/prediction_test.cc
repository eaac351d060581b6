#include "weft/net/api/fields/prediction.h"

#include <gtest/gtest.h>

#include <string>

#include "weft/net/api/chat/chat_request.h"
#include "weft/net/api/responses/response_request.h"
#include "weft/tests/net/api/api_fixture.h"

namespace weft::test {
namespace {

class PredictionTest : public ApiFixture {
 public:
  ApiResult<CompletionRequest> read(const std::string& prediction) {
    return read_chat(
        body(R"({"messages":[{"role":"user","content":"hello"}],"prediction":)" + prediction + "}"),
        context);
  }
  std::string predicted(const std::string& prediction) {
    const auto request = read(prediction);
    EXPECT_TRUE(request) << prediction;
    return request ? request->parts.front().speculation.prediction : "refused";
  }
  std::string verdict_of(const std::string& prediction) { return verdict(read(prediction)); }
};

TEST_F(PredictionTest, IsATextOrAListOfTexts) {
  EXPECT_EQ(predicted("null"), "");
  EXPECT_EQ(predicted(R"({"type":"content","content":"int a;\n"})"), "int a;\n");
  EXPECT_EQ(predicted(R"({"type":"content","content":""})"), "");
  EXPECT_EQ(predicted(R"({"type":"content","content":[]})"), "");
  EXPECT_EQ(predicted(R"({"type":"content","content":[{"type":"text","text":"int "},)"
                      R"({"type":"text","text":"a;"}]})"),
            "int a;");
}

TEST_F(PredictionTest, AnythingElseIsRefusedByItsName) {
  EXPECT_EQ(verdict_of(R"("x")"), "prediction invalid_type");
  EXPECT_EQ(verdict_of(R"({"content":"x"})"), "prediction.type missing_required_parameter");
  EXPECT_EQ(verdict_of(R"({"type":"content"})"), "prediction.content missing_required_parameter");
  EXPECT_EQ(verdict_of(R"({"type":"diff","content":"x"})"), "prediction.type unsupported");
  EXPECT_EQ(verdict_of(R"({"type":"content","content":1})"), "prediction.content invalid_type");
  EXPECT_EQ(verdict_of(R"({"type":"content","content":[1]})"),
            "prediction.content[0] invalid_type");
  EXPECT_EQ(verdict_of(R"({"type":"content","content":[{"type":"image_url","text":"x"}]})"),
            "prediction.content[0].type unsupported");
  EXPECT_EQ(verdict_of(R"({"type":"content","content":[{"type":"text"}]})"),
            "prediction.content[0].text missing_required_parameter");
  EXPECT_EQ(verdict_of(R"({"type":"content","content":"x","more":1})"),
            "prediction.more unknown_parameter");
}

TEST_F(PredictionTest, IsTakenByResponsesToo) {
  const auto request =
      read_response(body(R"({"input":"hi","prediction":{"type":"content","content":"int a;"}})"),
                    context, nullptr, true);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->parts.front().speculation.prediction, "int a;");
}

}  // namespace
}  // namespace weft::test
