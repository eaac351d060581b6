#include "weft/actors/request/prompt/prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/request/prompt_logprobs.h"
#include "weft/actors/request/request_text.h"
#include "weft/sampling/drafters/draft_text.h"
#include "weft/tests/actors/letter_model.h"
#include "weft/tests/actors/pipeline_fixture.h"

namespace weft::test {
namespace {

/// A token for each byte.
Tokenizer byte_tokenizer() {
  boost::json::object vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string token = "<0x";
    token += kDigits[static_cast<std::size_t>(byte / 16)];
    token += kDigits[static_cast<std::size_t>(byte % 16)];
    vocabulary[token + ">"] = byte;
  }
  boost::json::value all =
      boost::json::parse(R"({"model": {"type": "BPE", "byte_fallback": true, "merges": []}})");
  all.at("model").as_object()["vocab"] = vocabulary;
  return Tokenizer::from_json(boost::json::serialize(all), "bytes").value();
}

/// One token, and five of output.
Request five_tokens() {
  Request request;
  request.prompt_tokens = {1};
  request.max_tokens = 5;
  return request;
}

class PromptTest : public testing::Test {
 public:
  Result<std::unique_ptr<RequestGroup>> prepare(Request request) const {
    auto sink = std::make_shared<KeepingSink>();
    RequestTicket ticket(std::make_shared<ActiveRequest>(RequestId(1), std::move(request), sink,
                                                         TimePoint(Duration(1))));
    auto group = prepare_request(ticket, model, std::chrono::local_seconds{}, 77);
    if (!group) std::move(ticket).fail({EngineErrc::kBadRequest, {}});
    return group;
  }
  /// "code: detail" of the refusal.
  std::string refusal(const std::function<void(Request&)>& change) const {
    Request request;
    request.prompt_tokens = {1, 2, 3};
    request.max_tokens = 5;
    change(request);
    const auto group = prepare(std::move(request));
    if (group) return "no refusal";
    const auto code = static_cast<int>(group.error().code.value());
    return std::string(engine_category().name_of(code)) + ": " + group.error().detail;
  }

  ServedModel model = letter_model(32);
};

using testing::HasSubstr;
using testing::StartsWith;

TEST_F(PromptTest, EachRefusalNamesItsField) {
  EXPECT_THAT(refusal([](Request& r) { r.sampling.top_p = 2; }),
              testing::AllOf(StartsWith("bad_request: sampling: "), HasSubstr("top_p")));
  EXPECT_THAT(refusal([](Request& r) { r.sampling.n = 0; }),
              testing::AllOf(StartsWith("bad_request: sampling: "), HasSubstr("n")));
  model.end_tokens = {7};
  EXPECT_THAT(refusal([](Request& r) {
                r.sampling.allowed_tokens = {7};
                r.sampling.min_tokens = 1;
              }),
              StartsWith("bad_request: sampling: allowed_tokens: no token is left"));
  EXPECT_THAT(refusal([](Request& r) { r.stop = {"ok", ""}; }),
              testing::AllOf(StartsWith("bad_request: stop: "), HasSubstr("stop[1]")));
  EXPECT_EQ(refusal([](Request& r) { r.prompt_tokens = {1, 48}; }),
            "bad_request: prompt_tokens[1]: 48 is not in the vocabulary of 48");
  EXPECT_EQ(refusal([](Request& r) { r.prompt_tokens = {-1}; }),
            "bad_request: prompt_tokens[0]: -1 is not in the vocabulary of 48");
  EXPECT_EQ(refusal([](Request& r) { r.prompt_tokens.clear(); }),
            "bad_request: prompt: has no tokens");
  EXPECT_EQ(refusal([](Request& r) { r.max_tokens = -1; }), "bad_request: max_tokens: -1");
  EXPECT_EQ(refusal([](Request& r) { r.prompt = "ab"; }),
            "bad_request: prompt, prompt_tokens, messages: more than one is given");
  EXPECT_EQ(refusal([](Request& r) { r.tools = "x"; }), "bad_request: tools: is no JSON array");
  EXPECT_EQ(refusal([](Request& r) { r.tools = boost::json::array{boost::json::object(), 1}; }),
            "bad_request: tools[1]: is no JSON object");
  EXPECT_EQ(refusal([](Request& r) {
              r.prompt_tokens.clear();
              r.messages = {"ab"};
            }),
            "bad_request: messages[0]: is no JSON object");
  EXPECT_EQ(refusal([](Request& r) {
              r.prompt_tokens.clear();
              r.messages = {{{"role", "user"}, {"content", "ab"}}};
            }),
            "bad_request: the model has no chat template: the chat template cannot be used");
}

TEST_F(PromptTest, AConversationThatTheTemplateRefusesIsTheMessagesFault) {
  model.chat = ChatEncoder(model.tokenizer, "{{ raise_exception('no') }}");
  const auto refused = [this](const boost::json::object& kwargs) {
    return refusal([&](Request& r) {
      r.prompt_tokens.clear();
      r.messages = {{{"role", "user"}, {"content", "ab"}}};
      r.chat_template_kwargs = kwargs;
    });
  };
  EXPECT_THAT(refused({}), StartsWith("bad_request: messages: "));
  EXPECT_THAT(refused({{"messages", 1}}),
              StartsWith("bad_request: chat_template_kwargs: 'messages'"));
}

TEST_F(PromptTest, MoreLogprobsOfThePromptThanAreTakenAreRefused) {
  const auto taking = [](std::size_t most) {
    return [most](Request& r) { r.prompt_logprobs = std::make_shared<PromptLogprobs>(1, most); };
  };
  EXPECT_EQ(refusal(taking(5)),
            "bad_request: prompt_logprobs: 3 tokens with 1 others each are more than 5 logprobs");
  EXPECT_EQ(refusal(taking(6)), "no refusal");
}

TEST_F(PromptTest, LogprobsOfThePromptAreNotForAVector) {
  EXPECT_EQ(refusal([](Request& r) {
              r.vector.emplace();
              r.prompt_logprobs = std::make_shared<PromptLogprobs>(1);
            }),
            "bad_request: prompt_logprobs: not with a vector, for which no token is predicted");
}

TEST_F(PromptTest, MoreThanTheContextIsRefusedWithTheNumbers) {
  EXPECT_EQ(
      refusal([](Request& r) { r.max_tokens = 30; }),
      "context_length_exceeded: This model's maximum context length is 32 tokens. However, you "
      "requested 33 tokens (3 in the prompt, 30 in the completion). Please reduce the length "
      "of the prompt or completion.");
  EXPECT_EQ(
      refusal([](Request& r) {
        r.prompt_tokens.assign(32, 1);
        r.max_tokens = 0;
      }),
      "context_length_exceeded: This model's maximum context length is 32 tokens. However, your "
      "prompt resulted in 32 tokens. Please reduce the length of the prompt.");
  EXPECT_EQ(refusal([](Request& r) { r.max_tokens = 29; }), "no refusal");
}

TEST_F(PromptTest, AClippedBoundIsWhatTheContextHasRoomFor) {
  const auto bound = [&](std::int32_t asked) {
    Request request;
    request.prompt_tokens = {1, 2, 3};
    request.max_tokens = asked;
    request.clip_max_tokens = true;
    const auto group = prepare(std::move(request)).value();
    EXPECT_EQ(group->ticket->request().max_tokens, group->spec.max_tokens);
    return group->spec.max_tokens;
  };
  EXPECT_EQ(bound(28), 28);
  EXPECT_EQ(bound(30), 29);
  EXPECT_EQ(bound(1 << 27), 29);
  EXPECT_EQ(
      refusal([](Request& r) {
        r.prompt_tokens.assign(32, 1);
        r.clip_max_tokens = true;
      }),
      "context_length_exceeded: This model's maximum context length is 32 tokens. However, your "
      "prompt resulted in 32 tokens. Please reduce the length of the prompt.");
}

TEST_F(PromptTest, ATextThatCannotFitIsRefusedBeforeItIsTokenized) {
  model.tokenizer = byte_tokenizer();
  model.vocabulary = 256;
  model.chat = ChatEncoder(model.tokenizer, "{% for m in messages %}{{ m.content }}{% endfor %}");
  const std::string text(std::size_t{8} << 20, 'a');
  const auto refused = [&](const std::string& content, bool chat) {
    return refusal([&](Request& r) {
      r.prompt_tokens.clear();
      if (chat) {
        r.messages = {{{"role", "user"}, {"content", content}}};
      } else {
        r.prompt = content;
      }
    });
  };
  // <0x61> has 6 bytes.
  EXPECT_EQ(
      refused(text, false),
      "context_length_exceeded: This model's maximum context length is 32 tokens. However, your "
      "prompt resulted in at least 1398102 tokens. Please reduce the length of the prompt.");
  EXPECT_EQ(
      refused(text, true),
      "context_length_exceeded: This model's maximum context length is 32 tokens. However, your "
      "messages resulted in at least 33 tokens. Please reduce the length of the messages.");
  for (const bool chat : {false, true}) {
    EXPECT_THAT(refused(text.substr(0, 33), chat), HasSubstr("at least 33 tokens"));
    EXPECT_EQ(refused(text.substr(0, 27), chat), "no refusal");
    const std::string_view said = chat ? "messages" : "prompt";
    EXPECT_THAT(
        refused(text.substr(0, 28), chat),
        testing::AllOf(HasSubstr("maximum context length is 32 tokens. However, you requested 33"),
                       HasSubstr(said)));
  }
}

TEST_F(PromptTest, WithoutALimitTheContextIsFilled) {
  Request request;
  request.prompt_tokens = {1, 2, 3};
  request.max_tokens = 0;
  const auto group = prepare(std::move(request)).value();
  EXPECT_EQ(group->spec.max_tokens, 29);
  EXPECT_EQ(group->ticket->request().max_tokens, 29);
}

TEST_F(PromptTest, WithoutALimitTheModelsOwnHoldsWhereTheContextHasRoom) {
  model.defaults.max_tokens = 10;
  const auto bound = [&](std::size_t prompt, std::int32_t asked) {
    Request request;
    request.prompt_tokens.assign(prompt, 1);
    request.max_tokens = asked;
    return prepare(std::move(request)).value()->spec.max_tokens;
  };
  EXPECT_EQ(bound(3, 0), 10);
  EXPECT_EQ(bound(25, 0), 7);
  EXPECT_EQ(bound(3, 20), 20) << "a request's own";
}

TEST_F(PromptTest, WhatTheSchedulerGetsIsWhatWasAskedFor) {
  model.end_tokens = {7, 9};
  Request request;
  request.prompt_tokens = {1, 2, 3};
  request.max_tokens = 5;
  request.sampling.stop_tokens = {9, 4};
  request.sampling.n = 2;
  request.sampling.best_of = 3;
  request.priority = -2;
  request.request_class = RequestClass::kBatch;
  request.client = "somebody";
  const auto group = prepare(request).value();
  EXPECT_EQ(group->spec.end_tokens, (std::vector<TokenId>{4, 7, 9}));
  EXPECT_EQ(group->spec.sequences, 3);
  EXPECT_TRUE(group->spec.sampling->logprobs) << "ranking needs them";
  EXPECT_EQ(group->spec.seed, 77U);
  EXPECT_EQ(group->priority, -2);
  EXPECT_EQ(group->cls, RequestClass::kBatch);
  EXPECT_TRUE(group->client);
  request.sampling.ignore_eos = true;
  request.sampling.seed = 5;
  request.client.clear();
  const auto other = prepare(request).value();
  EXPECT_EQ(other->spec.end_tokens, (std::vector<TokenId>{4, 9}));
  EXPECT_EQ(other->spec.seed, 5U);
  EXPECT_FALSE(other->client);
}

TEST_F(PromptTest, ARequestBoundsItsGuesses) {
  const auto most = [&](const SpeculationWish& wish) {
    Request request = five_tokens();
    request.speculation = wish;
    return prepare(std::move(request)).value()->spec.most_guesses;
  };
  EXPECT_GT(most({}), SpeculationWish::kMostTokens);
  EXPECT_GT(most({.kind = SpeculationKind::kSuffix}), SpeculationWish::kMostTokens);
  EXPECT_EQ(most({.max_tokens = 3}), 3);
  EXPECT_EQ(most({.kind = SpeculationKind::kOff, .max_tokens = 3}), 0);
  for (const std::int32_t wrong : {-1, 65}) {
    EXPECT_THAT(refusal([&](Request& r) { r.speculation.max_tokens = wrong; }),
                testing::StartsWith("bad_request: speculation.max_tokens: "));
  }
}

TEST_F(PromptTest, APredictionIsTokenizedAndLetsARequestBeGuessed) {
  model.tokenizer = byte_tokenizer();
  model.vocabulary = 256;
  const auto spec_of = [&](const SpeculationWish& wish) {
    Request request = five_tokens();
    request.speculation = wish;
    return prepare(std::move(request)).value()->spec;
  };
  const auto predicted = [&](const SpeculationWish& wish) {
    const GroupSpec spec = spec_of(wish);
    if (!spec.drafts.prediction) return std::string("none");
    const std::span<const TokenId> tokens = spec.drafts.prediction->tokens();
    return std::string(tokens.begin(), tokens.end());
  };
  EXPECT_EQ(predicted({}), "none");
  EXPECT_EQ(predicted({.prediction = "int a;"}), "int a;");
  EXPECT_EQ(predicted({.kind = SpeculationKind::kOff, .prediction = "int a;"}), "none");
  model.guesses_unasked = false;
  EXPECT_EQ(spec_of({}).most_guesses, 0);
  EXPECT_EQ(spec_of({.kind = SpeculationKind::kSuffix}).most_guesses, 0);
  EXPECT_EQ(spec_of({.max_tokens = 3, .prediction = "int a;"}).most_guesses, 3);
  EXPECT_EQ(spec_of({.kind = SpeculationKind::kOff, .prediction = "int a;"}).most_guesses, 0);
  model.takes_predictions = false;
  EXPECT_EQ(spec_of({.prediction = "int a;"}).most_guesses, 0);
  model.guesses_unasked = true;
  EXPECT_GT(spec_of({.prediction = "int a;"}).most_guesses, 0);
  EXPECT_EQ(predicted({.prediction = "int a;"}), "none");
}

TEST_F(PromptTest, APredictionOfMoreTokensThanTheContextIsRefused) {
  model.tokenizer = byte_tokenizer();
  model.vocabulary = 256;
  const auto predict = [&](std::int64_t tokens) {
    return refusal([&](Request& r) {
      r.speculation.prediction = std::string(static_cast<std::size_t>(tokens), 'a');
    });
  };
  EXPECT_EQ(predict(model.context), "no refusal");
  EXPECT_THAT(predict(model.context + 1),
              testing::StartsWith("bad_request: prediction: has at least "));
}

TEST_F(PromptTest, WhoseCacheAPromptMayUseIsSaidByItsClientAndItsSalt) {
  const auto domain = [&](const std::string& client, const std::string& salt) {
    Request request = five_tokens();
    request.client = client;
    request.cache_salt = salt;
    const auto group = prepare(std::move(request)).value();
    return group->spec.cache_domain ? *group->spec.cache_domain : "everybody's";
  };
  EXPECT_EQ(domain("", ""), "everybody's");
  EXPECT_NE(domain("a", ""), "everybody's");
  EXPECT_NE(domain("a", ""), domain("b", ""));
  EXPECT_NE(domain("a", "b"), domain("ab", ""));
  EXPECT_NE(domain("", "a"), domain("a", ""));
  EXPECT_EQ(domain("a", "b"), domain("a", "b"));
  model.cache_share = CacheShare::kAll;
  EXPECT_EQ(domain("a", ""), "everybody's");
  EXPECT_EQ(domain("a", "b"), domain("c", "b"));
  EXPECT_NE(domain("a", "b"), domain("a", "c"));
  EXPECT_EQ(refusal([](Request& r) { r.cache_salt.assign(257, 's'); }),
            "bad_request: cache_salt: has more than 256 bytes");
}

TEST_F(PromptTest, TheDecoderOfAnEncoderModelBeginsWithItsStartToken) {
  model.has_encoder = true;
  model.start_token = 3;
  Request request;
  request.prompt_tokens = {1, 2};
  request.max_tokens = 31;
  const auto group = prepare(std::move(request)).value();
  EXPECT_EQ(group->spec.prompt, (std::vector<TokenId>{3}));
  EXPECT_EQ(group->spec.encoder_input, (std::vector<TokenId>{1, 2}));
  Request german;
  german.prompt_tokens = {1, 2};
  german.max_tokens = 30;
  german.forced_bos = 5;
  EXPECT_EQ(prepare(std::move(german)).value()->spec.prompt, (std::vector<TokenId>{3, 5}));
  EXPECT_THAT(refusal([](Request& r) { r.forced_bos = 1'000'000; }),
              HasSubstr("forced_bos_token_id: 1000000 is not in the vocabulary"));
  model.defaults.forced_bos = 4;
  EXPECT_EQ(prepare(five_tokens()).value()->spec.prompt, (std::vector<TokenId>{3, 4}));
  EXPECT_THAT(refusal([](Request& r) {
                r.prompt_tokens.assign(33, 1);
                r.max_tokens = 0;
              }),
              testing::AllOf(
                  StartsWith("context_length_exceeded: This model's maximum context length is 32"),
                  HasSubstr("your prompt resulted in 33 tokens")));
}

TEST_F(PromptTest, OnlyTheOutputOfAnEncoderModelCanBeForced) {
  EXPECT_EQ(refusal([](Request& r) { r.forced_bos = 5; }),
            "bad_request: forced_bos_token_id: 5 is for models with an encoder");
  model.defaults.forced_bos = 4;
  EXPECT_EQ(prepare(five_tokens()).value()->spec.prompt, std::vector<TokenId>{1});
}

}  // namespace
}  // namespace weft::test
