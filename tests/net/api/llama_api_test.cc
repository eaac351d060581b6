#include "weft/net/api/llama_api.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "weft/tests/net/api/api_fixture.h"

namespace weft::test {
namespace {

namespace json = boost::json;

class LlamaApiTest : public ApiFixture {};

TEST_F(LlamaApiTest, TellsOfAModelByLlamaCppsNames) {
  model->defaults.sampling.temperature = 0.5F;
  model->defaults.sampling.top_k = 7;
  const json::value props = json::parse(llama_props(card, 3));
  EXPECT_EQ(props.at("total_slots"), 3);
  const json::value& settings = props.at("default_generation_settings");
  EXPECT_EQ(settings.at("n_ctx"), 64);
  EXPECT_EQ(settings.at("params").at("temperature"), 0.5);
  EXPECT_EQ(settings.at("params").at("top_k"), 7);
  EXPECT_EQ(settings.at("params").at("n_predict"), -1);
  EXPECT_EQ(props.at("model_path"), "tiny") << "files are not named";
  EXPECT_EQ(props.at("chat_template"), json::value(model->tokenizer.chat_template()));
  EXPECT_EQ(props.at("bos_token"), "<s>");
}

TEST_F(LlamaApiTest, TellsWhichSlotsAreBusy) {
  EXPECT_EQ(json::parse(llama_slots(card, {false, true})), json::parse(R"([
              {"id": 0, "n_ctx": 64, "speculative": false, "is_processing": false},
              {"id": 1, "n_ctx": 64, "speculative": false, "is_processing": true}])"));
  EXPECT_EQ(llama_slots(card, {}), "[]");
}

}  // namespace
}  // namespace weft::test
