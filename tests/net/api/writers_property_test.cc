// Properties of every answer, whatever its texts and their deltas.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "weft/net/api/chat/chat_api.h"
#include "weft/net/api/completions/completion_api.h"
#include "weft/net/api/responses/response_api.h"
#include "weft/tests/net/api/byte_model.h"
#include "weft/tests/net/api/responses/response_options.h"
#include "weft/tests/net/api/written_events.h"
#include "weft/tests/text/tokenizer/random_text.h"

namespace weft {
namespace {

using boost::json::value;
using test::data_of;
using test::json_of;

constexpr int kRounds = 60;

/// A step of a played answer.
struct Step {
  std::size_t part;
  Delta delta;
};

/// The texts of some outputs as deltas in a random order, some of them without a text or a token.
struct Played {
  std::int32_t outputs = 1;
  std::vector<std::string> texts{};  ///< by the choice's index
  std::vector<Step> steps{};
  std::vector<Finish> parts{};
};

Delta random_delta(std::mt19937& random, std::string_view text, std::int32_t choice) {
  Delta delta = test::text_delta(text, choice);
  if (random() % 5 == 0) {  // a token without text
    delta.tokens.push_back('x');
    delta.token_texts.push_back({.begin = text.size(), .size = 0});
  }
  delta.top_per_token = 2;
  for (const TokenId token : delta.tokens) {
    delta.logprobs.push_back(-static_cast<float>(random() % 1000) / 64);
    delta.top.push_back({token, delta.logprobs.back()});
    delta.top.push_back({static_cast<TokenId>(random() % 256), -20});
  }
  return delta;
}

void cut(std::mt19937& random, const std::string& text, std::size_t part, std::int32_t choice,
         std::vector<Step>& steps) {
  std::string_view rest = text;
  while (!rest.empty()) {
    std::size_t size = std::min<std::size_t>(rest.size(), random() % 12);
    while (size < rest.size() && is_continuation_byte(rest[size])) ++size;
    steps.push_back({part, random_delta(random, rest.substr(0, size), choice)});
    rest.remove_prefix(size);
  }
}

/// Mixes the deltas of different outputs and keeps the order of each output's.
std::vector<Step> interleave(std::mt19937& random, std::vector<std::vector<Step>> outputs) {
  std::vector<Step> mixed;
  std::vector<std::size_t> at(outputs.size());
  for (;;) {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (at[i] < outputs[i].size()) left.push_back(i);
    }
    if (left.empty()) return mixed;
    const std::size_t next = left[random() % left.size()];
    mixed.push_back(std::move(outputs[next][at[next]++]));
  }
}

Played play(std::mt19937& random, std::size_t parts, std::int32_t outputs) {
  Played played{.outputs = outputs};
  std::vector<std::vector<Step>> steps;
  for (std::size_t part = 0; part < parts; ++part) {
    Finish finish;
    finish.usage = {static_cast<std::int32_t>(random() % 100), 0};
    for (std::int32_t choice = 0; choice < outputs; ++choice) {
      played.texts.push_back(test::random_text(random, static_cast<int>(random() % 12)));
      cut(random, played.texts.back(), part, choice, steps.emplace_back());
      finish.choices.push_back({.reason = static_cast<FinishReason>(random() % 2)});
      finish.usage.output_tokens += static_cast<std::int32_t>(played.texts.back().size());
    }
    finish.reason = finish.choices.front().reason;
    played.parts.push_back(std::move(finish));
  }
  played.steps = interleave(random, std::move(steps));
  return played;
}

/// Returns the messages of a whole answer, without [DONE].
std::vector<value> run(const Played& played, ReplyWriter& writer, Framing framing) {
  EventBatch out(framing);
  std::vector<value> messages;
  const auto take = [&] {
    for (const std::string& data : data_of(out)) {
      if (data != "[DONE]" && !data.empty()) messages.push_back(json_of(data));
    }
    out.clear();
  };
  writer.begin(out);
  if (framing != Framing::kBody) take();
  for (const Step& step : played.steps) {
    writer.delta(step.part, step.delta, out);
    if (framing != Framing::kBody) take();
  }
  writer.end(played.parts, out);
  take();
  return messages;
}

CompletionOptions played_options(const Played& played, bool stream) {
  CompletionOptions options;
  options.id = "id";
  options.model = "demo";
  options.stream = stream;
  options.include_usage = true;
  options.logprobs = true;
  options.top_logprobs = 2;
  options.outputs_per_part = played.outputs;
  return options;
}

void append_all(const value& from, std::vector<value>& to) {
  for (const value& one : from.as_array()) to.push_back(one);
}

struct Assembled {
  std::string text;
  std::vector<value> logprobs;
  value finish_reason;
};

/// Joins the text that a client reads from chat chunks, or from the one chat.completion.
std::vector<Assembled> assembled_chat(const std::vector<value>& messages, std::size_t outputs) {
  std::vector<Assembled> all(outputs);
  for (const value& message : messages) {
    for (const value& choice : message.at("choices").as_array()) {
      Assembled& one = all[choice.at("index").to_number<std::size_t>()];
      const auto& object = choice.as_object();
      const value& text = object.contains("delta") ? object.at("delta") : object.at("message");
      if (text.as_object().contains("content")) one.text += text.at("content").as_string();
      if (!choice.at("logprobs").is_null()) {
        append_all(choice.at("logprobs").at("content"), one.logprobs);
      }
      if (!choice.at("finish_reason").is_null()) one.finish_reason = choice.at("finish_reason");
    }
  }
  return all;
}

TEST(WritersPropertyTest, AChatStreamPutTogetherIsThePlainAnswer) {
  const auto model = test::byte_model();
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    std::mt19937 random(seed);
    const Played played = play(random, 1, 1 + static_cast<std::int32_t>(random() % 4));
    const auto streamed =
        run(played, *make_chat_writer(played_options(played, true), model), Framing::kSse);
    const auto plain =
        run(played, *make_chat_writer(played_options(played, false), model), Framing::kBody);
    ASSERT_EQ(plain.size(), 1);
    const auto from_stream = assembled_chat(streamed, played.texts.size());
    const auto from_plain = assembled_chat(plain, played.texts.size());
    for (std::size_t i = 0; i < played.texts.size(); ++i) {
      EXPECT_EQ(from_stream[i].text, played.texts[i]) << "seed " << seed;
      EXPECT_EQ(from_plain[i].text, played.texts[i]);
      EXPECT_EQ(from_stream[i].logprobs, from_plain[i].logprobs);
      EXPECT_EQ(from_stream[i].finish_reason, from_plain[i].finish_reason);
    }
    EXPECT_EQ(streamed.back().at("usage"), plain.front().at("usage"));
  }
}

/// Joins the text that a client reads from text_completion objects, with logprobs as rows of the
/// columns.
std::vector<Assembled> assembled_texts(const std::vector<value>& messages, std::size_t outputs) {
  std::vector<Assembled> all(outputs);
  for (const value& message : messages) {
    for (const value& choice : message.at("choices").as_array()) {
      Assembled& one = all[choice.at("index").to_number<std::size_t>()];
      one.text += choice.at("text").as_string();
      if (!choice.at("finish_reason").is_null()) one.finish_reason = choice.at("finish_reason");
      if (choice.at("logprobs").is_null()) continue;
      const auto& columns = choice.at("logprobs");
      for (std::size_t i = 0; i < columns.at("tokens").as_array().size(); ++i) {
        one.logprobs.push_back({columns.at("tokens").at(i), columns.at("token_logprobs").at(i),
                                columns.at("top_logprobs").at(i), columns.at("text_offset").at(i)});
      }
    }
  }
  return all;
}

TEST(WritersPropertyTest, ACompletionStreamPutTogetherIsThePlainAnswer) {
  const auto model = test::byte_model();
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    std::mt19937 random(seed);
    const Played played = play(random, 1 + random() % 3, 1 + static_cast<int>(random() % 3));
    CompletionOptions options = played_options(played, true);
    for (std::size_t part = 0; part < played.parts.size(); ++part) {
      options.echo.push_back(test::random_text(random, 2));
    }
    CompletionOptions plain_options = options;
    plain_options.stream = false;
    const auto streamed = run(played, *make_completion_writer(options, model), Framing::kSse);
    const auto plain = run(played, *make_completion_writer(plain_options, model), Framing::kBody);
    const auto from_stream = assembled_texts(streamed, played.texts.size());
    const auto from_plain = assembled_texts(plain, played.texts.size());
    for (std::size_t i = 0; i < played.texts.size(); ++i) {
      const auto part = i / static_cast<std::size_t>(played.outputs);
      EXPECT_EQ(from_stream[i].text, options.echo[part] + played.texts[i]) << "seed " << seed;
      EXPECT_EQ(from_plain[i].text, from_stream[i].text);
      EXPECT_EQ(from_stream[i].logprobs, from_plain[i].logprobs);
      EXPECT_EQ(from_stream[i].finish_reason, from_plain[i].finish_reason);
    }
    EXPECT_EQ(streamed.back().at("usage"), plain.front().at("usage"));
  }
}

TEST(WritersPropertyTest, AResponseStreamEndsWithThePlainAnswer) {
  const auto model = test::byte_model();
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    std::mt19937 random(seed);
    const Played played = play(random, 1, 1);
    ResponseOptions options = test::response_options();
    options.logprobs = seed % 2 == 0;
    const auto framing = seed % 4 < 2 ? Framing::kSse : Framing::kWebSocket;
    const auto events = run(played, *make_response_writer(options, model, framing), framing);
    std::string text;
    std::vector<value> logprobs;
    std::size_t ends = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].at("sequence_number"), i) << "seed " << seed;
      const std::string_view type = events[i].at("type").as_string();
      if (type == "response.completed" || type == "response.incomplete") ++ends;
      if (type != "response.output_text.delta") continue;
      text += events[i].at("delta").as_string();
      append_all(events[i].at("logprobs"), logprobs);
    }
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(text, played.texts.front()) << "seed " << seed;
    const value& last = events.back().at("response");
    const value& content = last.at("output").at(0).at("content").at(0);
    EXPECT_EQ(content.at("text").as_string(), text);
    EXPECT_EQ(content.at("logprobs"), value(boost::json::array(logprobs.begin(), logprobs.end())));
    const auto plain =
        run(played, *make_response_writer(options, model, Framing::kBody), Framing::kBody);
    EXPECT_EQ(plain.front(), last);
  }
}

}  // namespace
}  // namespace weft
