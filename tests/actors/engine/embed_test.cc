// Vectors of small models are those of sentence-transformers and transformers (make_vectors.py),
// and do not depend on what is computed beside them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/actors/engine/engine.h"
#include "weft/actors/loading/served_model.h"
#include "weft/core/io/file.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using asio::use_future;
using boost::system::error_code;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

constexpr float kTolerance = 1e-4F;

using Vector = std::vector<float>;
using Got = std::tuple<error_code, EmbedResult>;

/// An input and what the reference makes of it.
struct Expected {
  EmbedRequest request;
  std::size_t tokens = 0;
  Vector vector;
};

EmbedRequest asked(std::string text, VectorWish wish) {
  EmbedRequest request(std::move(text));
  request.wish = std::move(wish);
  return request;
}
EmbedRequest of_tokens(std::vector<TokenId> tokens, std::string text = {}) {
  EmbedRequest request(std::move(text));
  request.tokens = std::move(tokens);
  return request;
}

std::string folder_of(const std::string& name) {
  return test::source_path("tests/model/data/vectors/" + name);
}

std::vector<Expected> expected_of(const std::string& name, VectorWish::Kind kind) {
  const std::string text = read_text_file(folder_of(name) + "/expected.json", kAnySize).value();
  const json::value list = json::parse(text);
  std::vector<Expected> all;
  for (const json::value& one : list.as_array()) {
    Expected& expected = all.emplace_back();
    EmbedRequest& request = expected.request;
    request.text = std::string(one.at("text").as_string());
    request.wish.kind = kind;
    request.wish.raw_scores = true;
    request.wish.cut_at = VectorWish::kAsLong;
    if (const auto* second = one.as_object().if_contains("second")) {
      request.wish.second_text = std::string(second->as_string());
    }
    expected.tokens = one.at("tokens").as_array().size();
    for (const json::value& number : one.at("vector").as_array()) {
      expected.vector.push_back(number.to_number<float>());
    }
  }
  return all;
}

Config config_of(const std::string& name) {
  Config config;
  config.model = folder_of(name);
  config.threads = 1;
  config.max_rows = 8;
  return config;
}

class EmbedTest : public testing::Test {
 public:
  ~EmbedTest() override { pool_.join(); }

 protected:
  Engine& open(const Config& config) { return engine_.emplace(pool_.get_executor(), config); }
  Engine& open(const std::string& name) { return open(config_of(name)); }

  std::future<Got> begin(EmbedRequest request) {
    const auto done = std::make_shared<std::promise<Got>>();
    engine_->async_embed(std::move(request), [done](error_code error, EmbedResult result) {
      done->set_value({error, std::move(result)});
    });
    return done->get_future();
  }
  Got embed(EmbedRequest request) { return begin(std::move(request)).get(); }
  Vector vector_of(EmbedRequest request) {
    auto [error, result] = embed(std::move(request));
    EXPECT_FALSE(error) << error.message() << ": " << result.error_detail;
    return std::move(result.vector);
  }
  /// The words of a refusal.
  std::string refusal_of(EmbedRequest request, const error_code& code) {
    const auto [error, result] = embed(std::move(request));
    EXPECT_EQ(error, code);
    EXPECT_TRUE(result.vector.empty());
    return result.error_detail;
  }

  asio::thread_pool pool_{1};
  std::optional<Engine> engine_;
};

/// A model, and what it gives.
struct VectorCase {
  const char* name;
  VectorWish::Kind kind;
};

void PrintTo(const VectorCase& one,  // NOLINT(readability-identifier-naming): GoogleTest's name
             std::ostream* out) {
  *out << one.name;
}

class VectorModels : public EmbedTest, public testing::WithParamInterface<VectorCase> {
 protected:
  static std::vector<Expected> expected() { return expected_of(GetParam().name, GetParam().kind); }
  /// Each input's vector, computed alone.
  std::vector<Vector> alone() {
    std::vector<Vector> vectors;
    for (const Expected& one : expected()) vectors.push_back(vector_of(one.request));
    return vectors;
  }
};

TEST_P(VectorModels, GiveWhatTheReferenceGives) {
  open(GetParam().name);
  for (const Expected& one : expected()) {
    const auto [error, result] = embed(one.request);
    ASSERT_FALSE(error) << error.message() << ": " << result.error_detail;
    EXPECT_EQ(result.usage.prompt_tokens, one.tokens);
    EXPECT_THAT(result.vector, Pointwise(FloatNear(kTolerance), one.vector)) << one.request.text;
  }
}

TEST_P(VectorModels, GiveTheSameVectorWhateverIsInTheBatch) {
  Config config = config_of(GetParam().name);
  open(config);
  const std::vector<Vector> vectors = alone();
  config.max_rows = 4;
  config.max_step_tokens = 7;  // decoders read their inputs in pieces
  config.page_tokens = 2;
  open(config);
  std::vector<std::future<Got>> begun;
  for (int round = 0; round < 5; ++round) {
    for (const Expected& one : expected()) begun.push_back(begin(one.request));
  }
  for (std::size_t i = 0; i < begun.size(); ++i) {
    const auto [error, result] = begun[i].get();
    ASSERT_FALSE(error) << error.message() << ": " << result.error_detail;
    EXPECT_EQ(result.vector, vectors[i % vectors.size()]);
  }
  EXPECT_EQ(engine_->stats().output_tokens, 0) << "nothing is chosen";
}

TEST_P(VectorModels, GiveTheSameVectorInParts) {
  for (const char* partition : {"cpu,cpu", "cpu|cpu"}) {
    Config config = config_of(GetParam().name);
    config.partition = partition;
    open(config);
    for (const Expected& one : expected()) {
      EXPECT_THAT(vector_of(one.request), Pointwise(FloatNear(kTolerance), one.vector))
          << partition << ": " << one.request.text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Embedders, VectorModels,
    testing::Values(VectorCase{"bert-mean", VectorWish::Kind::kEmbedding},
                    VectorCase{"distilbert-cls", VectorWish::Kind::kEmbedding},
                    VectorCase{"llama-weighted", VectorWish::Kind::kEmbedding},
                    VectorCase{"mpnet-mean", VectorWish::Kind::kEmbedding},
                    VectorCase{"modernbert-mean", VectorWish::Kind::kEmbedding},
                    VectorCase{"nomic-mean", VectorWish::Kind::kEmbedding},
                    VectorCase{"qwen3-last", VectorWish::Kind::kEmbedding},
                    VectorCase{"roberta-dense", VectorWish::Kind::kEmbedding},
                    VectorCase{"xlm-roberta-plain", VectorWish::Kind::kEmbedding},
                    VectorCase{"bert-reranker", VectorWish::Kind::kScores},
                    VectorCase{"llama-classifier", VectorWish::Kind::kScores},
                    VectorCase{"modernbert-classifier", VectorWish::Kind::kScores},
                    VectorCase{"roberta-classifier", VectorWish::Kind::kScores}));

TEST_F(EmbedTest, AnEncoderHoldsNoPages) {
  const Engine& engine = open("bert-mean");
  EXPECT_EQ(engine.stats().pages, 0);
  EXPECT_FALSE(engine.model()->generates);
  EXPECT_TRUE(engine.model()->vector_facts.embeddings);
  EXPECT_EQ(engine.model()->vector_facts.size, 16);
  EXPECT_EQ(engine.model()->vector_facts.max_tokens, 20);
}

TEST_F(EmbedTest, AnEncoderRefusesToWriteText) {
  open("bert-mean");
  Request request;
  request.prompt = "a b";
  std::promise<std::pair<error_code, std::string>> done;
  engine_->async_generate(std::move(request), [&](error_code error, GenerationResult result) {
    done.set_value({error, std::move(result.error_detail)});
  });
  const auto [error, detail] = done.get_future().get();
  EXPECT_EQ(error, EngineErrc::kBadRequest);
  EXPECT_THAT(detail, HasSubstr("model: gives vectors and no text"));
}

TEST_F(EmbedTest, AModelThatWritesTextGivesVectorsToo) {
  Config config;
  config.model = test::source_path("examples/demo_model/model");
  config.threads = 1;
  config.max_rows = 2;
  config.max_pages = 64;
  config.max_context = 1024;
  open(config);
  EXPECT_TRUE(engine_->model()->generates);
  const Vector vector = vector_of("Hello");
  EXPECT_EQ(vector.size(), engine_->model()->vector_facts.size);
  float length = 0;
  for (const float number : vector) length += number * number;
  EXPECT_NEAR(length, 1, 1e-4);
}

TEST_F(EmbedTest, RefusesWhatTheModelDoesNotGive) {
  open("bert-reranker");
  EXPECT_THAT(refusal_of("a", EngineErrc::kBadRequest), HasSubstr("is a classifier"));
  open("bert-mean");
  EXPECT_THAT(refusal_of(asked("a", {.kind = VectorWish::Kind::kScores}), EngineErrc::kBadRequest),
              HasSubstr("is no classifier"));
  EXPECT_THAT(refusal_of(asked("a", {.dimensions = 17}), EngineErrc::kBadRequest),
              HasSubstr("dimensions: 17 is more than the model's 16"));
}

TEST_F(EmbedTest, RefusesAnInputThatIsTooLongUnlessItIsCut) {
  open("bert-mean");  // which takes 20 tokens
  std::string text;
  for (int i = 0; i < 19; ++i) text += "a ";
  EXPECT_THAT(refusal_of(text, EngineErrc::kContextLengthExceeded),
              HasSubstr("takes inputs of 20 tokens"));
  EXPECT_THAT(
      refusal_of(of_tokens(std::vector<TokenId>(21, 4)), EngineErrc::kContextLengthExceeded),
      HasSubstr("has 21 tokens"));
  const auto [error, result] = embed(asked(text, {.cut_at = VectorWish::kAsLong}));
  EXPECT_FALSE(error);
  EXPECT_EQ(result.usage.prompt_tokens, 20);
  const auto [none, shorter] = embed(asked(text, {.cut_at = 5}));
  EXPECT_FALSE(none);
  EXPECT_EQ(shorter.usage.prompt_tokens, 5);
}

TEST_F(EmbedTest, CutsATextByItsOwnTokensAndAtTheEndThatIsSaid) {
  open("bert-mean");
  EXPECT_EQ(vector_of(asked("b c d e f", {.text_tokens = 4})), vector_of("b c d e"));
  EXPECT_EQ(vector_of(asked("b c d e f", {.cut_at = 6, .cut_begin = true})), vector_of("c d e f"));
  EmbedRequest tokens = of_tokens({9, 9, 1, 5, 6, 7, 8, 2});
  tokens.wish = {.cut_at = 6, .cut_begin = true};
  EXPECT_EQ(vector_of(std::move(tokens)), vector_of("b c d e"));
  EXPECT_THAT(refusal_of(asked("a", {.text_tokens = -1}), EngineErrc::kBadRequest),
              HasSubstr("text_tokens: -1"));
}

TEST_F(EmbedTest, CutsTheSecondTextOfAPairByItsOwnTokens) {
  open("bert-reranker");
  const auto score = [&](std::string second, std::int32_t tokens) {
    return vector_of(asked("a b", {.kind = VectorWish::Kind::kScores,
                                   .second_text = std::move(second),
                                   .text_tokens = tokens}));
  };
  EXPECT_EQ(score("c d e f", 2), score("c d", 0));
  EXPECT_NE(score("c d e f", 2), score("c d e f", 0));
}

TEST_F(EmbedTest, RefusesTokensThatTheVocabularyLacks) {
  open("bert-mean");
  EXPECT_THAT(refusal_of(of_tokens({1, 4, 32, 2}), EngineErrc::kBadRequest),
              HasSubstr("prompt_tokens[2]: 32 is not in the vocabulary of 32"));
  EXPECT_THAT(refusal_of(of_tokens({4}, "a"), EngineErrc::kBadRequest),
              HasSubstr("more than one is given"));
}

TEST_F(EmbedTest, TokensGiveWhatTheirTextGives) {
  open("bert-mean");
  EXPECT_EQ(vector_of(of_tokens({1, 5, 6, 7, 8, 2})), vector_of("b c d e"));
}

TEST_F(EmbedTest, CutsAVectorToFewerDimensionsOfLengthOne) {
  open("bert-mean");
  const Vector whole = vector_of("b c d e");
  const Vector some = vector_of(asked("b c d e", {.dimensions = 5}));
  ASSERT_EQ(some.size(), 5);
  float length = 0;
  for (const float number : some) length += number * number;
  EXPECT_NEAR(length, 1, 1e-5);
  EXPECT_NEAR(some[0] / some[4], whole[0] / whole[4], 1e-4);
}

TEST_F(EmbedTest, GivesProbabilitiesUnlessScoresAreToBeRaw) {
  open("roberta-classifier");
  EmbedRequest request = expected_of("roberta-classifier", VectorWish::Kind::kScores)[1].request;
  const Vector raw = vector_of(request);
  request.wish.raw_scores = false;
  const Vector likely = vector_of(request);
  ASSERT_EQ(likely.size(), 3);
  EXPECT_NEAR(likely[0] + likely[1] + likely[2], 1, 1e-5);
  EXPECT_NEAR(std::log(likely[0] / likely[2]), raw[0] - raw[2], 1e-4);
  EXPECT_EQ(engine_->model()->vector_facts.labels,
            (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
}

class MaskTest : public EmbedTest {
 protected:
  MaskTest() { open("bert-masked"); }
  static EmbedRequest masked(std::string text, std::int32_t top_k = 3) {
    return asked(std::move(text), {.kind = VectorWish::Kind::kMaskFills, .top_k = top_k});
  }
  static json::array expected() {
    const std::string file = folder_of("bert-masked") + "/expected.json";
    return json::parse(read_text_file(file, kAnySize).value()).as_array();
  }
  void expect_reference() {
    for (const json::value& one : expected()) {
      const auto [error, result] = embed(masked(std::string(one.at("text").as_string())));
      ASSERT_FALSE(error) << error.message() << ": " << result.error_detail;
      EXPECT_EQ(result.usage.prompt_tokens, one.at("tokens").as_array().size());
      const json::array& masks = one.at("masks").as_array();
      ASSERT_EQ(result.masks.size(), masks.size());
      for (std::size_t i = 0; i < masks.size(); ++i) {
        expect_fills(result.masks[i], masks[i].as_array());
      }
    }
  }

 private:
  static void expect_fills(const std::vector<MaskFill>& got, const json::array& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].token, wanted[i].at("token").to_number<TokenId>());
      EXPECT_NEAR(got[i].score, wanted[i].at("score").to_number<float>(), kTolerance);
      EXPECT_EQ(got[i].text, wanted[i].at("token_str").as_string());
      EXPECT_EQ(got[i].sequence, wanted[i].at("sequence").as_string());
    }
  }
};

TEST_F(MaskTest, GetsTheTokensThatTheReferenceFillsIn) { expect_reference(); }

TEST_F(MaskTest, GetsTheSameTokensInParts) {
  for (const char* partition : {"cpu,cpu", "cpu|cpu"}) {
    SCOPED_TRACE(partition);
    Config config = config_of("bert-masked");
    config.partition = partition;
    open(config);
    expect_reference();
  }
}

TEST_F(MaskTest, GetsAsManyTokensAsThereAreAndTheirProbabilitiesAreOne) {
  const auto [error, result] = embed(masked("a [MASK] c", 1000));
  ASSERT_FALSE(error) << result.error_detail;
  ASSERT_EQ(result.masks.size(), 1);
  EXPECT_EQ(result.masks[0].size(), 31);
  float sum = 0;
  for (const MaskFill& fill : result.masks[0]) sum += fill.score;
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_F(MaskTest, GetsTokensForMoreMasksThanAStepHasLogits) {
  std::string many = "a";
  for (int i = 0; i < 12; ++i) many += " [MASK]";
  const auto [error, alone] = embed(masked(many));
  ASSERT_FALSE(error) << alone.error_detail;
  ASSERT_EQ(alone.masks.size(), 12);
  Config config = config_of("bert-masked");
  config.partition = "cpu,cpu";
  ASSERT_LT(config.max_rows, 12);
  open(config);
  const auto [second_error, parts] = embed(masked(many));
  ASSERT_FALSE(second_error) << parts.error_detail;
  ASSERT_EQ(parts.masks.size(), 12);
  for (std::size_t i = 0; i < parts.masks.size(); ++i) {
    ASSERT_EQ(alone.masks[i].size(), 3);
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(parts.masks[i][j].token, alone.masks[i][j].token);
      EXPECT_NEAR(parts.masks[i][j].score, alone.masks[i][j].score, kTolerance);
    }
  }
}

TEST_F(MaskTest, AMaskedLanguageModelGivesEmbeddingsToo) {
  EXPECT_EQ(vector_of("a b").size(), 16);
  EXPECT_FALSE(engine_->model()->generates);
  EXPECT_TRUE(engine_->model()->vector_facts.mask_fills);
}

TEST_F(MaskTest, RefusesWhatHasNoMaskOrAsksForTooMuch) {
  const auto refusal = [&](EmbedRequest request) {
    return refusal_of(std::move(request), EngineErrc::kBadRequest);
  };
  EXPECT_THAT(refusal(masked("a b")), HasSubstr("prompt: has no mask token"));
  EXPECT_THAT(refusal(masked("[MASK]", 0)), HasSubstr("top_k: 0"));
  std::string many;
  for (int i = 0; i < 20; ++i) many += "a ";
  for (int i = 0; i < 32; ++i) many += "[MASK] ";
  EXPECT_THAT(refusal(masked(many, 1000)), HasSubstr("top_k: 1000 copies of 54 tokens"));
  EXPECT_THAT(refusal(masked(many + "[MASK]")), HasSubstr("prompt: has 33 mask tokens"));
  EXPECT_THAT(refusal(asked("[MASK]", {.kind = VectorWish::Kind::kMaskFills, .cut_at = 3})),
              HasSubstr("is not cut"));
  open("bert-mean");
  EXPECT_THAT(refusal(masked("a")), HasSubstr("model: is no masked language model"));
}

TEST_F(EmbedTest, CanBeAwaited) {
  open("bert-mean");
  std::future<Vector> vector = co_spawn(
      pool_,
      // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): waited for below
      [&]() -> asio::awaitable<Vector> {
        // Not a temporary: GCC 12 destroys that twice in an expression that waits.
        EmbedRequest request("b c d e");
        const EmbedResult result =
            co_await engine_->async_embed(std::move(request), asio::use_awaitable);
        co_return result.vector;
      },
      use_future);
  EXPECT_EQ(vector.get(), vector_of("b c d e"));
}

}  // namespace
}  // namespace weft
