// Beam searches of the whole pipeline, beside one that computes every beam anew from its first
// token.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/gpu/host/host_device.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/tests/actors/played_pipeline.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/source_path.h"

namespace weft::test {
namespace {

using Tokens = std::vector<TokenId>;

constexpr std::int32_t kBeams = 4;

struct Hypothesis {
  Tokens tokens;
  double score = 0;
};

/// The search of Hugging Face's generate(), by its definition.
class PlainBeamSearch {
 public:
  PlainBeamSearch(const OpenedModel& model, Tokens prompt, Tokens ends, double length_penalty)
      : program_(*model.program),
        prompt_(std::move(prompt)),
        ends_(std::move(ends)),
        length_penalty_(length_penalty) {
    DeviceOptions options = SequenceRunner::options_for(program_, 72);
    options.threads = 1;
    device_ = HostDevice::load(model.checkpoint, model.program, options).value();
  }

  /// Returns finished outputs, best first, without the tokens that ended them.
  std::vector<Hypothesis> run(std::size_t max_tokens) {
    std::vector<Hypothesis> beams(1);
    for (std::size_t length = 1; length <= max_tokens; ++length) {
      const std::vector<Hypothesis> extensions = extend(beams);
      beams.clear();
      for (std::size_t i = 0; beams.size() < kBeams; ++i) {
        const Hypothesis& one = extensions.at(i);
        if (std::ranges::find(ends_, one.tokens.back()) == ends_.end()) {
          beams.push_back(one);
        } else if (i < kBeams) {
          finish(one, true);
        }
      }
      const bool full = finished_.size() == kBeams;
      if (full && finished_.back().score >= normalized(beams.front())) return finished_;
    }
    for (const Hypothesis& beam : beams) finish(beam, false);
    return finished_;
  }

 private:
  [[nodiscard]] double normalized(const Hypothesis& one) const {
    return one.score / std::pow(static_cast<double>(one.tokens.size()), length_penalty_);
  }

  void finish(Hypothesis one, bool ended) {
    one.score = normalized(one);
    if (ended) one.tokens.pop_back();
    finished_.push_back(std::move(one));
    std::ranges::stable_sort(finished_, std::ranges::greater{}, &Hypothesis::score);
    if (finished_.size() > kBeams) finished_.pop_back();
  }

  std::vector<Hypothesis> extend(const std::vector<Hypothesis>& beams) {
    std::vector<Hypothesis> all;
    for (const Hypothesis& beam : beams) {
      const std::vector<double> logprobs = logprobs_after(beam.tokens);
      for (std::size_t token = 0; token < logprobs.size(); ++token) {
        Hypothesis next{beam.tokens, beam.score + logprobs[token]};
        next.tokens.push_back(static_cast<TokenId>(token));
        all.push_back(std::move(next));
      }
    }
    std::ranges::stable_sort(all, std::ranges::greater{}, &Hypothesis::score);
    return all;
  }

  std::vector<double> logprobs_after(const Tokens& output) {
    SequenceRunner runner(*device_);
    Tokens all = prompt_;
    if (program_.has_encoder) {
      runner.encode(prompt_).value();
      all = {static_cast<TokenId>(program_.start_token)};
    }
    all.insert(all.end(), output.begin(), output.end());
    std::vector<double> logprobs;
    const auto keep = [&](ConstRows rows) {
      logprobs.assign(rows.row(0), rows.row(0) + rows.width);
    };
    runner.feed(all, keep, true).value();
    double sum = 0;
    for (const double logit : logprobs) sum += std::exp(logit);
    for (double& logit : logprobs) logit -= std::log(sum);
    return logprobs;
  }

  const Program& program_;
  const Tokens prompt_;
  const Tokens ends_;
  const double length_penalty_;
  std::unique_ptr<HostDevice> device_;
  std::vector<Hypothesis> finished_;
};

Request beam_request(Tokens prompt, std::int32_t max_tokens) {
  Request request;
  request.prompt_tokens = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0;
  request.sampling.n = kBeams;
  request.sampling.beams.num_beams = kBeams;
  return request;
}

struct Case {
  const char* model;
  int prompt;
  bool ends_early;  ///< a token that the search comes upon ends outputs
  float length_penalty;
};

class PipelineBeamsTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Case& what = GetParam();
    golden_ = GoldenModel::open(committed_golden(what.model)).value();
    devices_ = host_devices(golden_.model);
    request_ = beam_request(golden_.expected->ids("prompt_", what.prompt), 10);
    request_.sampling.beams.length_penalty = what.length_penalty;
    const Program& program = *golden_.model.program;
    Tokens ends(program.end_tokens.begin(), program.end_tokens.end());
    if (what.ends_early) {
      request_.sampling.stop_tokens = {golden_.expected->ids("greedy_", what.prompt)[3], 7};
      for (const TokenId token : request_.sampling.stop_tokens) ends.push_back(token);
    }
    PlainBeamSearch plain(golden_.model, request_.prompt_tokens, ends,
                          static_cast<double>(what.length_penalty));
    wanted_ = plain.run(10);
    ASSERT_EQ(wanted_.size(), static_cast<std::size_t>(kBeams));
  }

  void check(const PlayedRequest& got, const std::string& where, double tolerance = 1e-4) const {
    ASSERT_TRUE(got.end);
    ASSERT_FALSE(got.end->error.code) << to_string(got.end->error);
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      EXPECT_EQ(got.outputs[i], wanted_[i].tokens) << where << ", output " << i;
      EXPECT_NEAR(got.end->choices.at(i).cumulative_logprob, wanted_[i].score, tolerance) << where;
    }
  }

  GoldenModel golden_;
  MakeDevice devices_;
  Request request_;
  std::vector<Hypothesis> wanted_;
};

TEST_P(PipelineBeamsTest, FindsWhatAPlainSearchFinds) {
  for (const std::int32_t page_tokens : {1, 4, 16}) {
    PlayedPipeline pipeline(devices_, *golden_.model.program,
                            {.rows = 5, .step_tokens = 9, .page_tokens = page_tokens}, 1);
    check(pipeline.play({&request_, 1}).front(), "pages of " + std::to_string(page_tokens));
    EXPECT_EQ(pipeline.stats().pages_free, pipeline.stats().pages);
  }
}

TEST_P(PipelineBeamsTest, FindsTheSameWhereTheDeviceGivesTheCandidates) {
  // Operands of products are rounded to 16 bits there; a bfloat16 has 8 digits.
  constexpr double kTolerance = 1.0 / 256;
  std::vector<DeviceKind> kinds = {fake_gpu_kind()};
  if (has_gpu()) kinds.push_back(gpu_kind());
  for (const DeviceKind& kind : kinds) {
    PlayedPipeline pipeline(devices_of(kind, golden_.model), *golden_.model.program,
                            {.rows = 5, .step_tokens = 9, .page_tokens = 4}, 1);
    check(pipeline.play({&request_, 1}).front(), kind.name, kTolerance);
  }
}

TEST_P(PipelineBeamsTest, FindsTheSameBesideOthersAndAfterGivingWay) {
  request_.request_class = RequestClass::kBatch;
  Request chat = request_;
  chat.request_class = RequestClass::kChat;
  const std::vector<Request> requests = {request_, chat, request_, chat};
  PlayedPipeline pipeline(devices_, *golden_.model.program,
                          {.rows = 9, .page_tokens = 2, .pages = 32}, 2);
  for (const PlayedRequest& one : pipeline.play(requests, 4)) check(one, "beside others");
  EXPECT_GT(pipeline.stats().preemptions, 0U);
  EXPECT_EQ(pipeline.stats().pages_free, pipeline.stats().pages);
}

/// generate(num_beams=4, num_return_sequences=4, max_new_tokens=10, length_penalty=1) of
/// transformers 5.23, and the scores that it states.
struct Generated {
  std::filesystem::path folder;
  int prompt;
  std::vector<Hypothesis> outputs;
};

std::vector<Generated> generated() {
  const std::filesystem::path shared_llama = source_path("../shared/golden/llama");
  return {
      {committed_golden("llama"),
       0,
       {{{10, 10, 10, 10, 10, 10, 10, 10, 10, 10}, -0.60715},
        {{10, 10, 10, 23, 10, 10, 10, 10, 10, 10}, -0.69662},
        {{23, 10, 10, 10, 10, 10, 10, 10, 10, 10}, -0.70896},
        {{10, 10, 23, 10, 10, 10, 10, 10, 10, 10}, -0.70913}}},
      {committed_golden("llama"),
       1,
       {{{19, 10, 10, 10, 10, 10, 10, 10, 10, 10}, -1.0438},
        {{23, 1, 10, 10, 10, 10, 10, 10, 10, 10}, -1.06964},
        {{23, 10, 10, 10, 10, 10, 10, 10, 10, 10}, -1.11015},
        {{19, 10, 10, 10, 10, 10, 10, 10, 10, 1}, -1.12948}}},
      {committed_golden("m2m100"),
       1,
       {{{15, 15, 15, 15, 15, 15, 15, 15, 15, 15}, -0.062},
        {{5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, -0.21054},
        {{15, 15, 15, 15, 15, 15, 5, 5, 5, 5}, -0.46623},
        {{15, 15, 15, 15, 15, 15, 15, 5, 5, 5}, -0.47033}}},
      {shared_llama,
       0,
       {{{95, 228, 230, 222, 140, 34, 283, 32, 283, 32}, -2.42406},
        {{95, 228, 230, 222, 140, 34, 283, 32, 257, 66}, -2.49769},
        {{95, 228, 230, 222, 140, 34, 50, 178, 130, 7}, -2.50602},
        {{95, 228, 230, 222, 140, 34, 283, 32, 316, 211}, -2.51622}}},
      {shared_llama,
       2,
       {{{70, 81, 157, 185, 48, 171, 98, 64, 11, 274}, -2.42253},
        {{70, 81, 157, 185, 48, 171, 98, 64, 11, 222}, -2.50987},
        {{70, 81, 157, 185, 48, 171, 98, 64, 274, 66}, -2.51556},
        {{70, 81, 157, 185, 48, 171, 98, 64, 11, 92}, -2.51603}}},
  };
}

class GeneratedBeamsTest : public testing::TestWithParam<Generated> {};

TEST_P(GeneratedBeamsTest, AreWhatTheReferenceGenerates) {
  const Generated& wanted = GetParam();
  if (!std::filesystem::exists(wanted.folder)) GTEST_SKIP() << wanted.folder << " is not here";
  const auto golden = GoldenModel::open(wanted.folder).value();
  const MakeDevice devices = host_devices(golden.model);
  PlayedPipeline pipeline(devices, *golden.model.program, {.rows = 4, .page_tokens = 4}, 3);
  const Request request = beam_request(golden.expected->ids("prompt_", wanted.prompt), 10);
  const PlayedRequest got = pipeline.play({&request, 1}).front();
  ASSERT_TRUE(got.end);
  for (std::size_t i = 0; i < wanted.outputs.size(); ++i) {
    EXPECT_EQ(got.outputs[i], wanted.outputs[i].tokens) << "output " << i;
    EXPECT_NEAR(got.end->choices.at(i).cumulative_logprob, wanted.outputs[i].score, 1e-4);
  }
}

std::string name_of_generated(const testing::TestParamInfo<Generated>& info) {
  const std::filesystem::path& folder = info.param.folder;
  const bool ours = folder == committed_golden(folder.filename().string());
  return (ours ? "" : "shared_") + test_name(folder) + std::to_string(info.param.prompt);
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  return info.param.model + std::to_string(info.param.prompt) +
         (info.param.ends_early ? "Ending" : "");
}

INSTANTIATE_TEST_SUITE_P(Transformers, GeneratedBeamsTest, testing::ValuesIn(generated()),
                         name_of_generated);
INSTANTIATE_TEST_SUITE_P(Models, PipelineBeamsTest,
                         testing::Values(Case{"llama", 0, false, 1}, Case{"llama", 1, true, 1},
                                         Case{"gemma3", 1, true, 0}, Case{"bloom", 1, false, 2},
                                         Case{"m2m100", 0, false, 1}, Case{"m2m100", 1, true, 1}),
                         name_of_case);

}  // namespace
}  // namespace weft::test
