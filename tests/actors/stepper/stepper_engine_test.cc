// A Stepper and an Engine over the same model give the same outputs.

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/engine/engine.h"
#include "weft/actors/stepper/stepper.h"
#include "weft/tests/fixture/source_path.h"

namespace weft::test {
namespace {

Config demo_config() {
  Config config;
  config.model = source_path("examples/demo_model/model");
  config.threads = 1;
  config.max_rows = 6;
  config.max_pages = 96;
  config.max_context = 192;
  return config;
}

Request ask(std::string prompt) {
  Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = 10;
  request.sampling.temperature = 0;
  return request;
}

/// Requests of each kind of path through sampler, scheduler and text.
std::map<std::string, Request> requests() {
  std::map<std::string, Request> all;
  all["greedy"] = ask("Once upon a time");
  Request& sampled = all["sampled"] = ask("The little boat");
  sampled.sampling.temperature = 1.2F;
  sampled.sampling.top_p = 0.9F;
  sampled.sampling.penalties.repetition = 1.1F;
  sampled.sampling.seed = 5;
  sampled.sampling.logprobs = true;
  sampled.sampling.top_logprobs = 3;
  Request& several = all["several"] = sampled;
  several.sampling.n = 3;
  several.request_class = RequestClass::kBatch;
  Request& ranked = all["best_of"] = sampled;
  ranked.sampling.best_of = 3;
  Request& beams = all["beams"] = ask("One day a cat");
  beams.sampling.beams.num_beams = 3;
  beams.sampling.n = 2;
  Request& stops = all["stop string"] = ask("Once upon a time");
  stops.stop = {" a", "the"};
  stops.max_tokens = 40;
  Request& chat = all["chat"] = ask("");
  chat.messages = {{{"role", "user"}, {"content", "What is 12 + 30?"}}};
  chat.typed_output = true;
  chat.max_tokens = 24;
  Request& schema = all["schema"] = sampled;
  schema.structured_output.kind = StructuredOutput::Kind::kJsonSchema;
  schema.structured_output.text =
      R"({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]})";
  Request& choice = all["choice"] = ask("Yes or no?");
  choice.structured_output.kind = StructuredOutput::Kind::kChoice;
  choice.structured_output.choices = {"yes", "no"};
  return all;
}

struct Choice {
  std::string text;
  std::vector<std::pair<std::size_t, PieceKind>> marks;
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  std::vector<float> top;
  FinishReason reason = FinishReason::kError;
  std::string stop;
  TokenId stop_token = kNoToken;
  double score = 0;

  friend bool operator==(const Choice&, const Choice&) = default;
};

/// Takes the runs together, however many deltas they came in.
void append(Choice& to, std::string_view text, const std::vector<PieceMark>& marks) {
  for_each_piece(text, marks, [&to](OutputPiece piece) {
    if (to.marks.empty() || to.marks.back().second != piece.kind) {
      to.marks.emplace_back(to.text.size(), piece.kind);
    }
    to.text.append(piece.text);
  });
}

template <class Part>
void append_numbers(Choice& to, const Part& part) {
  to.tokens.insert(to.tokens.end(), part.tokens.begin(), part.tokens.end());
  to.logprobs.insert(to.logprobs.end(), part.logprobs.begin(), part.logprobs.end());
  for (const TokenLogprob& one : part.top) {
    to.top.push_back(static_cast<float>(one.token));
    to.top.push_back(one.logprob);
  }
}

void note_end(Choice& to, const ChoiceEnd& end) {
  to.reason = end.reason;
  to.stop = end.stop;
  to.stop_token = end.stop_token;
  to.score = end.cumulative_logprob;
}

struct Outcome {
  std::vector<Choice> choices;
  std::int32_t prompt_tokens = 0;
  std::int32_t output_tokens = 0;
  std::string error;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

std::map<std::string, Outcome> from_engine(const Config& config) {
  boost::asio::io_context io;
  Engine engine(io.get_executor(), config);
  std::map<std::string, Outcome> all;
  for (auto& [name, request] : requests()) {
    engine.async_generate(request, [&outcome = all[name]](boost::system::error_code error,
                                                          const GenerationResult& result) {
      if (error) outcome.error = error.message() + result.error_detail;
      outcome.prompt_tokens = result.usage.prompt_tokens;
      outcome.output_tokens = result.usage.output_tokens;
      for (const GeneratedChoice& choice : result.choices) {
        Choice& to = outcome.choices.emplace_back();
        append(to, choice.text, choice.marks);
        append_numbers(to, choice);
        note_end(to, choice.end);
      }
    });
  }
  io.run();
  return all;
}

void take(const StepOutput& output, Outcome& outcome) {
  for (const Delta& delta : output.deltas) {
    const auto choice = static_cast<std::size_t>(delta.choice);
    if (outcome.choices.size() <= choice) outcome.choices.resize(choice + 1);
    append(outcome.choices[choice], delta.text, delta.marks);
    append_numbers(outcome.choices[choice], delta);
  }
  if (!output.end) return;
  outcome.choices.resize(output.end->choices.size());
  outcome.prompt_tokens = output.end->usage.prompt_tokens;
  outcome.output_tokens = output.end->usage.output_tokens;
  for (std::size_t i = 0; i < outcome.choices.size(); ++i) {
    note_end(outcome.choices[i], output.end->choices[i]);
  }
  if (output.end->error.code) outcome.error = to_string(output.end->error);
}

std::map<std::string, Outcome> from_stepper(const Config& config) {
  Stepper stepper = Stepper::create(config).value();
  std::map<RequestId, std::string> names;
  std::map<std::string, Outcome> all;
  const auto infer = [&] {
    for (const StepOutput& output : stepper.infer()) take(output, all[names[output.id]]);
  };
  for (auto& [name, request] : requests()) {
    names[stepper.add(request).value()] = name;
    infer();  // so that steps mix prompts and decodes
  }
  while (!stepper.idle()) infer();
  return all;
}

TEST(StepperEngine, GivesWhatTheEngineGivesBitForBit) {
  const auto engine = from_engine(demo_config());
  const auto stepper = from_stepper(demo_config());
  ASSERT_EQ(engine.size(), requests().size());
  for (const auto& [name, wanted] : engine) {
    const Outcome& got = stepper.at(name);
    EXPECT_EQ(wanted.error, "") << name;
    ASSERT_FALSE(wanted.choices.empty()) << name;
    EXPECT_GT(wanted.output_tokens, 0) << name;
    EXPECT_EQ(got.choices.front().text, wanted.choices.front().text) << name;
    EXPECT_TRUE(got == wanted) << name;
  }
  EXPECT_EQ(engine.at("several").choices.size(), 3U);
  EXPECT_EQ(engine.at("beams").choices.size(), 2U);
  EXPECT_FALSE(engine.at("stop string").choices[0].stop.empty());
  EXPECT_TRUE(engine.at("schema").choices[0].text.starts_with('{'));
}

TEST(StepperEngine, GivesWhatTheEngineGivesOnRanksThatRunEachStepTogether) {
  for (const char* partition : {"cpu,cpu", "cpu | cpu"}) {
    SCOPED_TRACE(partition);
    Config config = demo_config();
    config.partition = partition;
    EXPECT_TRUE(from_stepper(config) == from_engine(config));
  }
}

}  // namespace
}  // namespace weft::test
