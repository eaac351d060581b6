#include "weft/net/api/vectors/vectors_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/net/api/chat/chat_api.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/ollama/ollama_embed.h"
#include "weft/tests/net/api/api_fixture.h"
#include "weft/text/json/base64.h"

namespace weft::test {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;

using Decode = ApiResult<ApiCall> (*)(simdjson::dom::object, const ApiContext&);
using Vectors = std::vector<std::vector<float>>;

class VectorsApi : public ApiFixture {
 protected:
  VectorsApi() { give_embeddings(); }
  void give_embeddings() { model->vector_facts = {.embeddings = true, .size = 4}; }
  /// The token "ab" is the mask token.
  void give_mask_fills() {
    Vocabulary vocabulary = tiny_vocabulary();
    vocabulary.special.mask = kAbToken;
    model->tokenizer = Tokenizer::from_vocabulary(vocabulary, "tiny").value();
    model->vector_facts = {.embeddings = true, .size = 4, .mask_fills = true};
  }
  void give_scores(std::vector<std::string> labels) {
    const auto size = static_cast<std::int64_t>(labels.size());
    model->vector_facts = {.scores = true, .size = size, .labels = std::move(labels)};
  }

  ApiResult<ApiCall> decode(Decode how, std::string_view text) { return how(body(text), context); }
  std::string verdict_of(Decode how, std::string_view text) { return verdict(decode(how, text)); }

  /// The answer's body when the parts give these vectors.
  static json::value answer(const ApiCall& call, const Vectors& vectors) {
    std::vector<Finish> parts(vectors.size());
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      parts[i].vector = vectors[i];
      parts[i].usage.prompt_tokens = 3;
    }
    return written(call, parts);
  }
  static json::value written(const ApiCall& call, const std::vector<Finish>& parts) {
    EventBatch out(Framing::kBody);
    call.writer->begin(out);
    call.writer->end(parts, out);
    return json::parse(out.bytes());
  }
  static json::value expected(std::string_view text) { return json::parse(text); }
};

TEST_F(VectorsApi, TakesInputsInAllTheirForms) {
  const auto one = decode(decode_embeddings, R"({"model": "tiny", "input": "a b"})");
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_EQ(one->parts.size(), 1);
  EXPECT_EQ(one->parts[0].prompt, "a b");
  EXPECT_EQ(one->parts[0].client, "somebody");
  EXPECT_EQ(one->parts[0].timeout, context.timeout);
  EXPECT_EQ(one->parts[0].vector->kind, VectorWish::Kind::kEmbedding);
  EXPECT_EQ(one->framing, Framing::kBody);
  EXPECT_EQ(decode(decode_embeddings, R"({"input": ["a", "b", "c"]})")->parts.size(), 3);
  EXPECT_THAT(decode(decode_embeddings, R"({"input": [5, 6]})")->parts[0].prompt_tokens,
              ElementsAre(5, 6));
  const auto lists = decode(decode_embeddings, R"({"input": [[5, 6], [7]]})");
  ASSERT_EQ(lists->parts.size(), 2);
  EXPECT_THAT(lists->parts[1].prompt_tokens, ElementsAre(7));
}

TEST_F(VectorsApi, TakesIdsBeyondTheContextWhereTheyAreCut) {
  std::string ids = "5";
  for (std::int64_t i = 0; i < model->context; ++i) ids += ",5";
  EXPECT_EQ(verdict_of(decode_embeddings, R"({"input": [)" + ids + "]}"),
            "input context_length_exceeded");
  const auto cut =
      decode(decode_embeddings, R"({"input": [[)" + ids + R"(]], "truncate_prompt_tokens": 3})");
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_EQ(cut->parts[0].prompt_tokens.size(), static_cast<std::size_t>(model->context) + 1);
}

TEST_F(VectorsApi, TakesWhatAnEmbeddingIsToBe) {
  const auto call = decode(decode_embeddings, R"({"input": "a", "dimensions": 2,
    "truncate_prompt_tokens": -1, "normalize": false, "priority": -3, "cache_salt": "s",
    "service_tier": "flex", "user": "u", "encoding_format": "float"})");
  ASSERT_TRUE(call) << call.error().message;
  const Request& part = call->parts[0];
  EXPECT_EQ(part.vector->dimensions, 2);
  EXPECT_EQ(part.vector->cut_at, VectorWish::kAsLong);
  EXPECT_EQ(part.vector->unit, false);
  EXPECT_EQ(part.priority, -3);
  EXPECT_EQ(part.cache_salt, "s");
  EXPECT_EQ(part.request_class, RequestClass::kBatch);
}

TEST_F(VectorsApi, NamesTheFieldThatIsWrong) {
  const auto said = [this](std::string_view text) { return verdict_of(decode_embeddings, text); };
  EXPECT_EQ(said("{}"), "input missing_required_parameter");
  EXPECT_EQ(said(R"({"input": ""})"), "input invalid_value");
  EXPECT_EQ(said(R"({"input": []})"), "input invalid_value");
  EXPECT_EQ(said(R"({"input": ["a", ""]})"), "input[1] invalid_value");
  EXPECT_EQ(said(R"({"input": ["a", 5]})"), "input invalid_type");
  EXPECT_EQ(said(R"({"input": {"a": 5}})"), "input invalid_type");
  EXPECT_EQ(said(R"({"input": [5, 1000]})"), "input[1] invalid_value");
  EXPECT_EQ(said(R"({"input": [[5], [-1]]})"), "input[1][0] invalid_value");
  EXPECT_EQ(said(R"({"input": "a", "dimensions": 5})"), "dimensions invalid_value");
  EXPECT_EQ(said(R"({"input": "a", "dimensions": 0})"), "dimensions invalid_value");
  EXPECT_EQ(said(R"({"input": "a", "encoding_format": "hex"})"), "encoding_format invalid_value");
  EXPECT_EQ(said(R"({"input": "a", "prompt_logprobs": 1})"), "prompt_logprobs unknown_parameter");
  EXPECT_EQ(said(R"({"input": "a", "truncate_prompt_tokens": 0})"),
            "truncate_prompt_tokens invalid_value");
  EXPECT_EQ(said(R"({"input": "a", "cache_salt": ""})"), "cache_salt invalid_value");
  EXPECT_EQ(said(R"({"input": "a", "temperature": 1})"), "temperature unknown_parameter");
  EXPECT_EQ(said(R"({"input": "a", "model": "other"})"), "404 model model_not_found");
}

TEST_F(VectorsApi, RefusesMoreInputsThanAnAnswerHolds) {
  const auto inputs = [](int count) {
    std::string text = R"({"input": ["a")";
    for (int i = 1; i < count; ++i) text += R"(,"a")";
    return text + "]}";
  };
  EXPECT_EQ(verdict_of(decode_embeddings, inputs(2048)), "200");
  EXPECT_EQ(verdict_of(decode_embeddings, inputs(2049)), "input invalid_value");
  EXPECT_EQ(verdict_of(decode_embeddings, inputs(10'000)), "input invalid_value");
  model->vector_facts.size = 4096;
  EXPECT_EQ(verdict_of(decode_embeddings, inputs(1024)), "200");
  EXPECT_EQ(verdict_of(decode_embeddings, inputs(1025)), "input invalid_value");
}

TEST_F(VectorsApi, WritesEmbeddingsAsNumbers) {
  const auto call = decode(decode_embeddings, R"({"input": ["a", "b"]})");
  EXPECT_EQ(answer(*call, {{0.5F, -0.25F}, {1e-7F, 3}}), expected(R"({"object": "list", "data": [
              {"object": "embedding", "index": 0, "embedding": [0.5, -0.25]},
              {"object": "embedding", "index": 1, "embedding": [1e-07, 3]}],
              "model": "tiny", "usage": {"prompt_tokens": 6, "total_tokens": 6}})"));
}

TEST_F(VectorsApi, NumbersCanBeReadBackAndNoNumberIsNull) {
  const auto call = decode(decode_embeddings, R"({"input": "a"})");
  const float third = 1.0F / 3;
  const json::value got =
      answer(*call, {{third, std::numeric_limits<float>::infinity(), std::nanf("")}});
  const auto& numbers = got.at("data").at(0).at("embedding").as_array();
  EXPECT_EQ(numbers.at(0).to_number<float>(), third);
  EXPECT_TRUE(numbers.at(1).is_null());
  EXPECT_TRUE(numbers.at(2).is_null());
}

TEST_F(VectorsApi, WritesEmbeddingsInBase64) {
  const auto call = decode(decode_embeddings, R"({"input": "a", "encoding_format": "base64"})");
  for (const std::size_t size : {1U, 2U, 3U, 4U}) {
    const std::vector<float> vector(size, 0.1F);
    const json::value got = answer(*call, {vector});
    const auto bytes = decode_base64(got.at("data").at(0).at("embedding").as_string());
    ASSERT_TRUE(bytes);
    std::vector<float> read(size);
    ASSERT_EQ(bytes->size(), size * sizeof(float));
    std::memcpy(read.data(), bytes->data(), bytes->size());
    EXPECT_EQ(read, vector);
  }
}

TEST_F(VectorsApi, AModelSaysWhatItDoesNotGive) {
  EXPECT_EQ(verdict_of(decode_classify, R"({"input": "a"})"), "model unsupported");
  give_scores({"no", "yes"});
  EXPECT_EQ(verdict_of(decode_embeddings, R"({"input": "a"})"), "model unsupported");
  EXPECT_EQ(verdict_of(decode_score, R"({"text_1": "a", "text_2": "b"})"), "model unsupported")
      << "which of two labels is the score?";
  EXPECT_EQ(verdict_of(decode_ollama_embed, R"({"input": "a"})"), "model unsupported");
  model->vector_facts = {};
  EXPECT_EQ(verdict_of(decode_rerank, R"({"query": "a", "documents": ["b"]})"),
            "model unsupported");
}

TEST_F(VectorsApi, TakesTextsWithTheMaskToken) {
  give_mask_fills();
  const auto one = decode(decode_fill_mask, R"({"model": "tiny", "input": "c ab d"})");
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_EQ(one->parts.size(), 1);
  EXPECT_EQ(one->parts[0].prompt, "c ab d");
  EXPECT_EQ(one->parts[0].client, "somebody");
  EXPECT_EQ(one->parts[0].vector->kind, VectorWish::Kind::kMaskFills);
  EXPECT_EQ(one->parts[0].vector->top_k, 5);
  const auto two = decode(decode_fill_mask, R"({"input": ["ab", "ab ab"], "top_k": 7})");
  ASSERT_EQ(two->parts.size(), 2);
  EXPECT_EQ(two->parts[1].prompt, "ab ab");
  EXPECT_EQ(two->parts[1].vector->top_k, 7);
}

TEST_F(VectorsApi, NamesTheTextWithoutAMaskToken) {
  const auto said = [this](std::string_view text) { return verdict_of(decode_fill_mask, text); };
  EXPECT_EQ(said(R"({"input": "ab"})"), "model unsupported");
  give_mask_fills();
  EXPECT_EQ(said(R"({"input": "a b"})"), "input invalid_value");
  EXPECT_EQ(said(R"({"input": ["ab", "a b"]})"), "input[1] invalid_value");
  EXPECT_THAT(decode(decode_fill_mask, R"({"input": "c"})").error().message,
              HasSubstr("does not have the mask token, ab"));
  EXPECT_EQ(said(R"({"input": [5, 6]})"), "input[0] invalid_type");
  EXPECT_EQ(said(R"({"input": "ab", "top_k": 0})"), "top_k invalid_value");
  EXPECT_EQ(said(R"({"input": "ab", "top_k": 1001})"), "top_k invalid_value");
  EXPECT_EQ(said(R"({"input": "ab", "dimensions": 2})"), "dimensions unknown_parameter");
}

TEST_F(VectorsApi, RefusesMoreFilledTextsThanAnAnswerHolds) {
  give_mask_fills();
  const auto text_of = [](std::size_t bytes) {
    return R"({"top_k": 1000, "input": ["ab", "ab)" + std::string(bytes - 2, 'c') + R"("]})";
  };
  const std::size_t most =
      defaults::kMaxFilledBytes / 1000 - 2 * defaults::kMaskFillBytes - 2;
  EXPECT_EQ(verdict_of(decode_fill_mask, text_of(most)), "200");
  EXPECT_EQ(verdict_of(decode_fill_mask, text_of(most + 1)), "input[1] invalid_value");
}

TEST_F(VectorsApi, WritesTokensForEachMaskAsHuggingFaceDoes) {
  give_mask_fills();
  const auto call = decode(decode_fill_mask, R"({"input": ["ab", "ab ab"]})");
  std::vector<Finish> parts(2);
  parts[0].masks = {{{260, 0.5F, "a", "\"a\""}, {261, 0.25F, "b", "b"}}};
  parts[1].masks = {{}, {{260, std::nanf(""), "a", "ab a"}}};
  for (Finish& part : parts) part.usage.prompt_tokens = 3;
  EXPECT_EQ(written(*call, parts), expected(R"({"id": "fill-mask-42", "object": "list",
              "created": 1000, "model": "tiny", "data": [
              {"index": 0, "masks": [[
                {"score": 0.5, "token": 260, "token_str": "a", "sequence": "\"a\""},
                {"score": 0.25, "token": 261, "token_str": "b", "sequence": "b"}]]},
              {"index": 1, "masks": [[],
                [{"score": null, "token": 260, "token_str": "a", "sequence": "ab a"}]]}],
              "usage": {"prompt_tokens": 6, "total_tokens": 6}})"));
}

TEST_F(VectorsApi, AModelThatWritesNoTextRefusesAChatByName) {
  model->generates = false;
  const auto chat = decode(decode_chat, R"({"messages": [{"role": "user", "content": "a"}]})");
  ASSERT_FALSE(chat);
  EXPECT_EQ(verdict(chat), "model unsupported");
  EXPECT_THAT(chat.error().message, HasSubstr("tiny gives vectors and no text"));
}

TEST_F(VectorsApi, ReranksByACrossEncoder) {
  give_scores({"relevance"});
  const auto call = decode(decode_rerank, R"({"query": "a", "documents": ["x", {"text": "y"}, "z"],
                                              "top_n": 2})");
  ASSERT_TRUE(call) << call.error().message;
  ASSERT_EQ(call->parts.size(), 3);
  EXPECT_EQ(call->parts[1].prompt, "a");
  EXPECT_EQ(call->parts[1].vector->second_text, "y");
  EXPECT_EQ(call->parts[1].vector->kind, VectorWish::Kind::kScores);
  EXPECT_EQ(call->parts[1].vector->cut_at, VectorWish::kAsLong);
  EXPECT_EQ(answer(*call, {{0.25F}, {0.5F}, {0.5F}}),
            expected(R"({"id": "rerank-42", "model": "tiny",
              "usage": {"prompt_tokens": 9, "total_tokens": 9}, "results": [
              {"index": 1, "document": {"text": "y"}, "relevance_score": 0.5},
              {"index": 2, "document": {"text": "z"}, "relevance_score": 0.5}]})"));
}

TEST_F(VectorsApi, ReranksByTheCosineOfEmbeddings) {
  const auto call = decode(decode_rerank,
                           R"({"query": "a", "documents": ["x", "y"], "return_documents": false})");
  ASSERT_EQ(call->parts.size(), 3);
  EXPECT_EQ(call->parts[0].prompt, "a");
  EXPECT_EQ(call->parts[2].prompt, "y");
  EXPECT_EQ(call->parts[0].vector->unit, true);
  EXPECT_EQ(answer(*call, {{1, 0}, {0, 1}, {0.5F, 0.5F}}).at("results"),
            expected(R"([{"index": 1, "relevance_score": 0.5},
                         {"index": 0, "relevance_score": 0}])"));
}

TEST_F(VectorsApi, TakesWhatCoheresClientsSayOfDocuments) {
  give_scores({"relevance"});
  const auto call = decode(decode_rerank, R"({"query": "a", "documents": [
      {"title": "x", "text": "y", "year": 7, "none": null}, {"title": "z"}, "w"],
      "rank_fields": ["title", "year", "none"], "max_tokens_per_doc": 5, "max_chunks_per_doc": 10})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->parts[0].vector->second_text, "title: x\nyear: 7");
  EXPECT_EQ(call->parts[1].vector->second_text, "title: z");
  EXPECT_EQ(call->parts[2].vector->second_text, "w");
  EXPECT_EQ(call->parts[0].vector->text_tokens, 5);
  EXPECT_EQ(call->parts[0].vector->cut_at, VectorWish::kAsLong);
  const json::value results = answer(*call, {{0.5F}, {0.25F}, {0}}).at("results");
  EXPECT_EQ(results.at(0).at("document"),
            expected(R"({"title": "x", "text": "y", "year": 7, "none": null})"));
  const auto one = decode(decode_rerank, R"({"query": "a", "documents": [{"title": "x"}],
                                             "rank_fields": ["title"]})");
  EXPECT_EQ(one->parts[0].vector->second_text, "x");
  const auto said = [this](std::string_view text) {
    return verdict_of(decode_rerank, R"({"query": "a", "documents": [{"title": "x"}], )" +
                                         std::string(text) + "}");
  };
  EXPECT_EQ(said(R"("rank_fields": ["name"])"), "documents[0] invalid_type");
  EXPECT_EQ(said(R"("rank_fields": [5])"), "rank_fields[0] invalid_type");
  EXPECT_EQ(said(R"("rank_fields": ["title"], "max_tokens_per_doc": 0)"),
            "max_tokens_per_doc invalid_value");
  EXPECT_EQ(said(R"("rank_fields": ["title"], "max_chunks_per_doc": 0)"),
            "max_chunks_per_doc invalid_value");
}

TEST_F(VectorsApi, CutsOnlyDocumentsToTheirTokens) {
  const auto call = decode(decode_rerank, R"({"query": "a", "documents": ["x"],
                                              "max_tokens_per_doc": 5})");
  EXPECT_EQ(call->parts[0].vector->text_tokens, 0) << "the query";
  EXPECT_EQ(call->parts[1].vector->text_tokens, 5);
}

TEST_F(VectorsApi, ReranksAsVoyagesClientsReadIt) {
  const auto call = decode(decode_rerank, R"({"query": "a", "documents": ["x", "y"], "top_k": 1,
                                              "truncation": false, "return_embeddings": true})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->parts[1].vector->cut_at, 0);
  const json::value got = answer(*call, {{1, 0}, {0, 1}, {0.5F, 0.5F}});
  EXPECT_EQ(got.at("data"), expected(R"([{"index": 1, "relevance_score": 0.5}])"));
  EXPECT_EQ(got.at("object"), "list");
  EXPECT_EQ(got.at("results"), expected(R"([{"index": 1, "relevance_score": 0.5,
      "document": {"text": "y"}, "embedding": [0.5, 0.5]}])"));
  const auto said = [this](std::string_view text) {
    return verdict_of(decode_rerank,
                      R"({"query": "a", "documents": ["x"], )" + std::string(text) + "}");
  };
  EXPECT_EQ(said(R"("top_n": 1, "top_k": 2)"), "top_k invalid_value");
  give_scores({"relevance"});
  EXPECT_EQ(said(R"("return_embeddings": false)"), "200");
  EXPECT_EQ(said(R"("return_embeddings": true)"), "return_embeddings unsupported");
}

TEST_F(VectorsApi, CutsInputsInTheWordsOfEachClient) {
  const auto cut = [this](std::string_view field) {
    const auto call = decode(decode_embeddings, R"({"input": "a", )" + std::string(field) + "}");
    EXPECT_TRUE(call) << field;
    const VectorWish& wish = *call->parts[0].vector;
    return std::pair(wish.cut_at, wish.cut_begin);
  };
  constexpr auto kAsLong = VectorWish::kAsLong;
  EXPECT_EQ(cut(R"("truncate": true)"), std::pair(kAsLong, false));
  EXPECT_EQ(cut(R"("truncate": "END")"), std::pair(kAsLong, false));
  EXPECT_EQ(cut(R"("truncate": "START")"), std::pair(kAsLong, true));
  EXPECT_EQ(cut(R"("truncate": "NONE")"), std::pair(0, false));
  EXPECT_EQ(cut(R"("truncation": true)"), std::pair(kAsLong, false));
  EXPECT_EQ(cut(R"("truncation": false)"), std::pair(0, false));
  EXPECT_EQ(cut(R"("truncation": true, "truncate_prompt_tokens": 5)"), std::pair(5, false));
  EXPECT_EQ(cut(R"("truncate": true, "truncation_direction": "Left")"), std::pair(kAsLong, true));
  const auto said = [this](std::string_view field) {
    return verdict_of(decode_embeddings, R"({"input": "a", )" + std::string(field) + "}");
  };
  EXPECT_EQ(said(R"("truncate": "MIDDLE")"), "truncate invalid_value");
  EXPECT_EQ(said(R"("truncate": 5)"), "truncate invalid_type");
  EXPECT_EQ(said(R"("truncate": "NONE", "truncation": true)"), "truncation invalid_value");
  EXPECT_EQ(said(R"("truncation": false, "truncate_prompt_tokens": 5)"),
            "truncate_prompt_tokens invalid_value");
  EXPECT_EQ(said(R"("truncation_direction": "up")"), "truncation_direction invalid_value");
}

TEST_F(VectorsApi, PutsThePromptOfTheModelsFilesInFrontOfATextByWhatItIsFor) {
  model->vector_facts.prompts = {
      {"search_query", "q: "}, {"document", "d: "}, {"Clustering", "c: "}};
  const auto text = [this](std::string_view field) {
    const auto call = decode(decode_embeddings, R"({"input": "a", )" + std::string(field) + "}");
    return call ? call->parts[0].prompt : verdict(call);
  };
  for (const std::string_view name : {"query", "search_query", "retrieval.query", "code.query"}) {
    EXPECT_EQ(text(R"("input_type": ")" + std::string(name) + "\""), "q: a") << name;
  }
  EXPECT_EQ(text(R"("task": "retrieval.passage")"), "d: a");
  EXPECT_EQ(text(R"("input_type": "search_document")"), "d: a");
  EXPECT_EQ(text(R"("task": "clustering")"), "c: a");
  EXPECT_EQ(text(R"("prompt_name": "document", "input_type": "query")"), "d: a");
  EXPECT_EQ(text(R"("input_type": "classification")"), "a") << "there is none for it";
  EXPECT_EQ(text(R"("input_type": null)"), "a");
  EXPECT_EQ(text(R"("prompt_name": "other")"), "prompt_name invalid_value");
  const auto ids = decode(decode_embeddings, R"({"input": [5], "input_type": "query"})");
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->parts[0].prompt, "") << "ids are taken as they are";
}

TEST_F(VectorsApi, WritesEmbeddingsAsBits) {
  const std::vector<float> vector = {1, -1, 0.5F, 0, 0, 0, 0, 2, 3};
  const auto embedding = [&](std::string_view fields) {
    const auto call = decode(decode_embeddings, R"({"input": "a", )" + std::string(fields) + "}");
    if (!call) return json::value(verdict(call));
    return answer(*call, {vector}).at("data").at(0).at("embedding");
  };
  EXPECT_EQ(embedding(R"("embedding_type": "ubinary")"), expected("[161, 128]"));
  EXPECT_EQ(embedding(R"("embedding_types": ["binary"])"), expected("[33, 0]"));
  EXPECT_EQ(embedding(R"("output_dtype": "ubinary", "encoding_format": "base64")"), "oYA=");
  EXPECT_EQ(embedding(R"("output_dtype": "float")").as_array().size(), 9U);
  EXPECT_TRUE(embedding(R"("embedding_type": "base64")").is_string());
  EXPECT_EQ(embedding(R"("embedding_types": ["float", "binary"])"), "embedding_types unsupported");
  EXPECT_EQ(embedding(R"("embedding_type": "int8")"), "embedding_type unsupported");
  EXPECT_EQ(embedding(R"("embedding_type": 5)"), "embedding_type invalid_type");
}

TEST_F(VectorsApi, TakesTheOtherNamesOfSizeAndLength) {
  const auto call = decode(decode_embeddings, R"({"input": "a", "output_dimension": 2,
      "normalized": true, "late_chunking": false, "return_multivector": false})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->parts[0].vector->dimensions, 2);
  EXPECT_EQ(call->parts[0].vector->unit, true);
  EXPECT_EQ(verdict_of(decode_embeddings, R"({"input": "a", "late_chunking": true})"),
            "late_chunking unsupported");
}

TEST_F(VectorsApi, RefusesAQueryOrDocumentsThatAreNone) {
  const auto said = [this](std::string_view text) { return verdict_of(decode_rerank, text); };
  EXPECT_EQ(said(R"({"documents": ["x"]})"), "query missing_required_parameter");
  EXPECT_EQ(said(R"({"query": "", "documents": ["x"]})"), "query invalid_value");
  EXPECT_EQ(said(R"({"query": "a"})"), "documents missing_required_parameter");
  EXPECT_EQ(said(R"({"query": "a", "documents": []})"), "documents invalid_value");
  EXPECT_EQ(said(R"({"query": "a", "documents": ["x", 5]})"), "documents[1] invalid_type");
  EXPECT_EQ(said(R"({"query": "a", "documents": [{"title": "x"}]})"), "documents[0] invalid_type");
  EXPECT_EQ(said(R"({"query": "a", "documents": ["x"], "top_n": 0})"), "top_n invalid_value");
}

TEST_F(VectorsApi, RefusesMoreCopiesOfATextThanAreBounded) {
  give_scores({"relevance"});
  constexpr std::size_t kDocuments = 256;
  std::string documents = R"("x")";
  for (std::size_t i = 1; i < kDocuments; ++i) documents += R"(,"x")";
  const std::string most(defaults::kMaxPairedBytes / kDocuments, 'a');
  const auto rerank = [&](const std::string& query) {
    return verdict_of(decode_rerank,
                      R"({"query": ")" + query + R"(", "documents": [)" + documents + "]}");
  };
  const auto score = [&](const std::string& first) {
    return verdict_of(decode_score,
                      R"({"text_1": ")" + first + R"(", "text_2": [)" + documents + "]}");
  };
  EXPECT_EQ(rerank(most + "a"), "query invalid_value");
  EXPECT_EQ(score(most + "a"), "text_1 invalid_value");
  EXPECT_EQ(score(most), "200");
  give_embeddings();
  EXPECT_EQ(rerank(most + "a"), "200") << "its query is embedded once";
}

TEST_F(VectorsApi, ScoresPairsOfTexts) {
  give_scores({"relevance"});
  const auto call = decode(decode_score, R"({"text_1": "a", "text_2": ["x", "y"]})");
  ASSERT_EQ(call->parts.size(), 2);
  EXPECT_EQ(call->parts[1].prompt, "a");
  EXPECT_EQ(answer(*call, {{0.25F}, {0.5F}}),
            expected(R"({"id": "score-42", "object": "list", "created": 1000, "model": "tiny",
              "data": [{"index": 0, "object": "score", "score": 0.25},
                       {"index": 1, "object": "score", "score": 0.5}],
              "usage": {"prompt_tokens": 6, "total_tokens": 6}})"));
  const auto pairs = decode(decode_score, R"({"text_1": ["a", "b"], "text_2": ["x", "y"]})");
  EXPECT_EQ(pairs->parts[1].prompt, "b");
  EXPECT_EQ(pairs->parts[1].vector->second_text, "y");
  EXPECT_EQ(verdict_of(decode_score, R"({"text_1": ["a", "b"], "text_2": "x"})"),
            "text_2 invalid_value");
  give_embeddings();
  const auto cosines = decode(decode_score, R"({"text_1": ["a", "b"], "text_2": ["x", "y"]})");
  ASSERT_EQ(cosines->parts.size(), 4);
  const json::value got = answer(*cosines, {{1, 0}, {0, 1}, {1, 0}, {1, 0}});
  EXPECT_EQ(got.at("data").at(0).at("score").to_number<float>(), 1);
  EXPECT_EQ(got.at("data").at(1).at("score").to_number<float>(), 0);
}

TEST_F(VectorsApi, ClassifiesTexts) {
  give_scores({"no", "yes"});
  const auto call = decode(decode_classify, R"({"input": ["a", "b"], "use_activation": false})");
  ASSERT_EQ(call->parts.size(), 2);
  EXPECT_TRUE(call->parts[0].vector->raw_scores);
  EXPECT_EQ(answer(*call, {{0.25F, 0.75F}, {2, -1}}),
            expected(R"({"id": "classify-42", "object": "list", "created": 1000, "model": "tiny",
              "data": [{"index": 0, "label": "yes", "probs": [0.25, 0.75], "num_classes": 2},
                       {"index": 1, "label": "no", "probs": [2, -1], "num_classes": 2}],
              "usage": {"prompt_tokens": 6, "total_tokens": 6}})"));
}

TEST_F(VectorsApi, SpeaksOllamasApi) {
  const auto call = decode(decode_ollama_embed, R"({"model": "tiny:latest", "input": ["a", "b"],
    "keep_alive": "5m", "options": {"num_ctx": 100}})");
  ASSERT_TRUE(call) << call.error().message;
  ASSERT_EQ(call->parts.size(), 2);
  EXPECT_EQ(call->parts[0].vector->cut_at, VectorWish::kAsLong);
  EXPECT_EQ(call->parts[0].vector->unit, true);
  EXPECT_EQ(answer(*call, {{0.5F}, {1}}),
            expected(R"({"model": "tiny:latest", "embeddings": [[0.5], [1]], "total_duration": 0,
                         "load_duration": 0, "prompt_eval_count": 6})"));
  const auto older = decode(decode_ollama_embeddings, R"({"model": "tiny", "prompt": "a"})");
  EXPECT_EQ(answer(*older, {{0.5F, 2}}), expected(R"({"embedding": [0.5, 2]})"));
  const auto load = decode(decode_ollama_embed, R"({"model": "tiny", "input": ""})");
  EXPECT_TRUE(load->parts.empty());
  EXPECT_EQ(answer(*load, {}).at("embeddings"), expected("[]"));
  EXPECT_EQ(verdict_of(decode_ollama_embed, R"({"input": "a", "options": {"temperature": 1}})"),
            "options.temperature unknown_parameter");
  EXPECT_EQ(
      decode(decode_ollama_embed, R"({"input": "a", "truncate": false})")->parts[0].vector->cut_at,
      0);
}

}  // namespace
}  // namespace weft::test
