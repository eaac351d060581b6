// The tokens of a request are those that it gets alone, and greedy ones are the reference's:
// whatever runs beside it, however its prompt is cut, wherever its pages are, and whenever it gives
// way and goes on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/core/kv_dtype.h"
#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/drafting/model_drafter.h"
#include "weft/gpu/host/host_device.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/sampling/drafters/suffix_drafter.h"
#include "weft/tests/actors/played_pipeline.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/recalling_drafter.h"

namespace weft::test {
namespace {

using testing::ElementsAre;

using Tokens = std::vector<TokenId>;

// Output number i of a request draws with the seed plus i times this.
constexpr std::uint64_t kSeedStep = 0x9E3779B97F4A7C15;

/// A request and what must come of it.
struct ExpectedTokens {
  Request request;
  std::vector<Tokens> outputs;
};

class PipelineGolden : public testing::Test {
 protected:
  void open(const std::filesystem::path& folder) {
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not here";
    auto golden = GoldenModel::open(folder);
    ASSERT_TRUE(golden) << to_string(golden.error());
    golden_ = std::move(*golden);
  }

  [[nodiscard]] const Program& program() const { return *golden_.model.program; }

  [[nodiscard]] ExpectedTokens greedy(int prompt) const {
    ExpectedTokens one;
    one.request.prompt_tokens = golden_.expected->ids("prompt_", prompt);
    one.request.sampling.temperature = 0;
    // The reference does not stop.
    one.request.sampling.ignore_eos = true;
    Tokens tokens = golden_.expected->ids("greedy_", prompt);
    if (program().has_encoder) tokens.erase(tokens.begin());
    one.request.max_tokens = static_cast<std::int32_t>(tokens.size());
    if (!computes_as_reference_) tokens = alone(one.request).front().outputs.front();
    one.outputs.push_back(std::move(tokens));
    return one;
  }

  [[nodiscard]] std::vector<ExpectedTokens> all_greedy() const {
    std::vector<ExpectedTokens> all;
    for (int i = 0; golden_.expected->has_prompt(i); ++i) all.push_back(greedy(i));
    return all;
  }

  [[nodiscard]] std::vector<PlayedRequest> alone(const Request& request) const {
    PlayedPipeline pipeline(devices_, program(), {.name = "alone", .rows = 4}, 1);
    return pipeline.play({&request, 1});
  }

  /// Requests that draw. Their tokens are known only from a run in which nothing else runs.
  [[nodiscard]] std::vector<ExpectedTokens> sampled() const {
    const ExpectedTokens longest = all_greedy().back();
    std::vector<ExpectedTokens> all(3, longest);
    SamplingParams& plain = all[0].request.sampling;
    plain.temperature = 0.8F;
    plain.top_p = 0.95F;
    plain.top_k = 50;
    plain.min_p = 0.001F;
    plain.penalties = {.repetition = 1.1F, .frequency = 0.2F};
    plain.dry.multiplier = 0.5F;
    plain.seed = 7;
    SamplingParams& follows = all[1].request.sampling;
    follows.temperature = 1;
    follows.mirostat.version = 2;
    follows.seed = 8;
    SamplingParams& several = all[2].request.sampling;
    several.temperature = 1;
    several.n = 3;
    several.seed = 9;
    for (ExpectedTokens& one : all) {
      const SamplingParams& sampling = one.request.sampling;
      one.outputs.clear();
      for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(sampling.n); ++i) {
        Request single = one.request;
        single.sampling.n = 1;
        single.sampling.seed = *sampling.seed + i * kSeedStep;
        one.outputs.push_back(alone(single).front().outputs.front());
      }
    }
    return all;
  }

  /// Requests that are greedy and drawn, short and long, chat and batch.
  [[nodiscard]] std::vector<ExpectedTokens> mixed() const {
    std::vector<ExpectedTokens> all = sampled();
    for (ExpectedTokens& one : all_greedy()) {
      all.push_back(one);
      one.request.request_class = RequestClass::kBatch;
      all.push_back(std::move(one));
    }
    return all;
  }

  static void check(const std::vector<ExpectedTokens>& wanted,
                    const std::vector<PlayedRequest>& got, const PipelineShape& shape) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_TRUE(got[i].end);
      EXPECT_EQ(got[i].end->reason, FinishReason::kLength) << to_string(got[i].end->error);
      EXPECT_EQ(got[i].outputs, wanted[i].outputs) << shape.name << ", request " << i;
    }
  }

  static std::vector<Request> requests_of(const std::vector<ExpectedTokens>& all) {
    std::vector<Request> requests;
    for (const ExpectedTokens& one : all) requests.push_back(one.request);
    return requests;
  }

  void expect_reference_alone() const {
    const std::vector<ExpectedTokens> wanted = all_greedy();
    const std::array shapes = {
        PipelineShape{.name = "pages of 1", .rows = 1, .page_tokens = 1},
        PipelineShape{.name = "a token a step", .rows = 1, .step_tokens = 1, .page_tokens = 2},
        PipelineShape{.name = "chunks of 5", .rows = 1, .step_tokens = 5, .page_tokens = 64},
        PipelineShape{.name = "slab", .rows = 1, .step_tokens = 7, .layout = KvLayout::kSlab}};
    for (const PipelineShape& shape : shapes) {
      PlayedPipeline pipeline(devices_, program(), shape, 3);
      for (const ExpectedTokens& one : wanted)
        check({one}, pipeline.play({&one.request, 1}), shape);
      if (!program().has_encoder) {
        EXPECT_LE(pipeline.sizes().longest_entry, shape.step_tokens) << shape.name;
      }
    }
  }

  void expect_same_beside_others() const {
    const std::vector<ExpectedTokens> wanted = mixed();
    const std::vector<Request> requests = requests_of(wanted);
    using std::chrono::microseconds;
    const std::array shapes = {
        PipelineShape{.name = "all at once", .rows = 16},
        PipelineShape{.name = "pages of 1", .rows = 6, .step_tokens = 40, .page_tokens = 1},
        PipelineShape{.name = "pages of 2", .rows = 3, .step_tokens = 3, .page_tokens = 2},
        PipelineShape{.name = "pages of 64", .rows = 5, .step_tokens = 11, .page_tokens = 64},
        PipelineShape{
            .name = "slab", .step_tokens = 23, .page_tokens = 8, .layout = KvLayout::kSlab},
        PipelineShape{.name = "reserve", .pages = 12, .admission = AdmissionMode::kReserve},
        PipelineShape{.name = "every third tick", .step_tokens = 20, .decode_every = 3},
        PipelineShape{.name = "in time", .rows = 16, .target_inter_token = microseconds(500)}};
    for (const PipelineShape& shape : shapes) {
      PlayedPipeline pipeline(devices_, program(), shape, 5);
      check(wanted, pipeline.play(requests, 12), shape);
      // Some sequences did run together.
      EXPECT_GE(pipeline.sizes().most_entries, 3U) << shape.name;
      EXPECT_LE(pipeline.sizes().most_tokens,
                std::max<std::int64_t>(shape.step_tokens, shape.context));
      const EngineStats stats = pipeline.stats();
      if (shape.layout == KvLayout::kPages) {
        EXPECT_EQ(stats.pages_free, stats.pages) << shape.name;
      }
    }
  }

  void expect_same_after_giving_way() const {
    std::vector<ExpectedTokens> wanted = sampled();
    for (const ExpectedTokens& one : all_greedy()) wanted.push_back(one);
    for (ExpectedTokens& one : wanted) one.request.request_class = RequestClass::kBatch;
    // These come while the others run, and find nothing free.
    for (const ExpectedTokens& one : all_greedy()) wanted.push_back(one);
    const std::vector<Request> requests = requests_of(wanted);
    // Just enough memory for the largest request alone.
    const auto least = [&](std::int32_t page_tokens) {
      const Request& several = requests[2];
      const auto prompt =
          program().has_encoder ? 1 : static_cast<std::int32_t>(several.prompt_tokens.size());
      const std::int32_t each = (prompt + several.max_tokens + page_tokens - 1) / page_tokens;
      return 3 * each - 2 * (prompt / page_tokens);
    };
    const std::array shapes = {
        PipelineShape{.name = "few pages of 1", .rows = 8, .page_tokens = 1, .pages = least(1)},
        PipelineShape{.name = "few pages of 4", .rows = 8, .page_tokens = 4, .pages = least(4)},
        PipelineShape{.name = "few rows", .rows = 3, .step_tokens = 9, .page_tokens = 2},
        PipelineShape{.name = "slab of few rows",
                      .rows = 3,
                      .step_tokens = 9,
                      .page_tokens = 4,
                      .layout = KvLayout::kSlab}};
    for (const PipelineShape& shape : shapes) {
      for (const std::size_t between : {std::size_t{3}, std::size_t{9}}) {
        PlayedPipeline pipeline(devices_, program(), shape, between);
        check(wanted, pipeline.play(requests, between), shape);
        EXPECT_GT(pipeline.stats().preemptions, 0U) << shape.name;
      }
    }
  }

  /// Each request again and again, and each output's beginning as a part of the next prompt, if a
  /// decoder reads that.
  void expect_same_where_the_beginning_is_there() const {
    std::vector<ExpectedTokens> wanted = mixed();
    const auto continued = program().has_encoder ? std::vector<ExpectedTokens>() : all_greedy();
    for (const ExpectedTokens& one : continued) {
      ExpectedTokens next = one;
      const Tokens& output = one.outputs.front();
      const auto half = output.begin() + static_cast<std::ptrdiff_t>(output.size() / 2);
      Tokens& prompt = next.request.prompt_tokens;
      prompt.insert(prompt.end(), output.begin(), half);
      next.outputs.front().assign(half, output.end());
      next.request.max_tokens = static_cast<std::int32_t>(next.outputs.front().size());
      wanted.push_back(std::move(next));
    }
    const std::array shapes = {
        PipelineShape{.name = "pages of 1", .rows = 6, .step_tokens = 40, .page_tokens = 1},
        PipelineShape{.name = "pages of 4", .rows = 6, .step_tokens = 7, .page_tokens = 4},
        PipelineShape{.name = "room for few", .rows = 4, .page_tokens = 2, .pages = 60}};
    for (const PipelineShape& shape : shapes) {
      PlayedPipeline pipeline(devices_, program(), shape, 7);
      check(wanted, pipeline.play(requests_of(wanted), 1000), shape);
      const auto again = pipeline.play(requests_of(wanted), 9);
      check(wanted, again, shape);
      const EngineStats stats = pipeline.stats();
      EXPECT_GE(stats.prefix_hits, wanted.size()) << shape.name;
      const Usage& usage = again[0].end->usage;
      // Of a prompt the last token is computed, of an encoder's input none.
      EXPECT_EQ(usage.cached_tokens == usage.prompt_tokens, program().has_encoder) << shape.name;
      EXPECT_EQ(stats.pages_free, stats.pages) << shape.name;
    }
  }

  /// Guesses of which a random number are right, and those of a suffix drafter.
  void expect_same_whatever_is_guessed() const {
    const std::vector<ExpectedTokens> wanted = mixed();
    const auto recalls = [texts = texts_of(wanted)](const DeviceLimits& limits) {
      return std::make_unique<RecallingDrafter>(texts, limits.vocabulary, 11);
    };
    const auto by_suffix = [](const DeviceLimits& limits) {
      const auto at = [](std::int64_t size) { return static_cast<std::size_t>(size); };
      return std::make_unique<SuffixDrafter>(at(limits.rows), at(limits.vocabulary),
                                             at(limits.context) + 1);
    };
    const std::array shapes = {
        PipelineShape{.name = "one guess", .rows = 16, .guesses = 1},
        PipelineShape{
            .name = "pages of 1", .rows = 6, .step_tokens = 40, .page_tokens = 1, .guesses = 3},
        PipelineShape{.name = "room for few",
                      .rows = 4,
                      .step_tokens = 9,
                      .page_tokens = 2,
                      .pages = 60,
                      .guesses = 5},
        PipelineShape{.name = "slab",
                      .step_tokens = 23,
                      .page_tokens = 8,
                      .layout = KvLayout::kSlab,
                      .guesses = 4},
        PipelineShape{
            .name = "reserve", .pages = 12, .admission = AdmissionMode::kReserve, .guesses = 7}};
    for (PipelineShape shape : shapes) {
      const EngineStats stats = play_guessed(recalls, shape, wanted);
      EXPECT_GT(stats.accepted_guesses, stats.output_tokens / 20) << shape.name;
      EXPECT_GT(stats.rejected_guesses, 0U) << shape.name;
      static_cast<void>(play_guessed(by_suffix, shape, wanted));
      if (is_gpu_ || program().has_encoder) continue;
      shape.drafts = true;
      const EngineStats drafted = play_guessed(drafts_for_itself(), shape, wanted);
      EXPECT_GT(drafted.accepted_guesses, drafted.output_tokens / 20) << shape.name;
    }
  }

  /// Returns drafters by the model itself, as its own draft model.
  [[nodiscard]] std::function<std::unique_ptr<Drafter>(const DeviceLimits&)> drafts_for_itself()
      const {
    return [this](const DeviceLimits& limits) {
      const OpenedModel& model = golden_.model;
      return std::make_unique<ModelDrafter>(
          HostDevice::load(model.checkpoint, model.program,
                           ModelDrafter::options_for(*model.program, limits, DType::kF32, 1))
              .value(),
          limits, nullptr);
    };
  }

  using MakeDrafter = std::function<std::unique_ptr<Drafter>(const DeviceLimits&)>;

  [[nodiscard]] EngineStats play_guessed(const MakeDrafter& drafter, PipelineShape shape,
                                         const std::vector<ExpectedTokens>& wanted) const {
    shape.chooses_at_once = is_gpu_;
    const MakeDevice guessing = [&](const DeviceLimits& limits) {
      auto device = devices_(limits);
      if (is_gpu_) {
        dynamic_cast<cuda::CudaStepDevice&>(*device).use(drafter(limits));
      } else {
        dynamic_cast<HostStepDevice&>(*device).use(drafter(limits));
      }
      return device;
    };
    PlayedPipeline pipeline(guessing, program(), shape, 13);
    check(wanted, pipeline.play(requests_of(wanted), 12), shape);
    EXPECT_LE(pipeline.sizes().most_tokens,
              std::max<std::int64_t>(shape.step_tokens, shape.context));
    return pipeline.stats();
  }

  /// Returns what the decoder reads and writes.
  [[nodiscard]] std::vector<Tokens> texts_of(const std::vector<ExpectedTokens>& all) const {
    std::vector<Tokens> texts;
    for (const ExpectedTokens& one : all) {
      for (const Tokens& output : one.outputs) {
        Tokens& text = texts.emplace_back(one.request.prompt_tokens);
        if (program().has_encoder) text = {static_cast<TokenId>(program().start_token)};
        text.insert(text.end(), output.begin(), output.end());
      }
    }
    return texts;
  }

  GoldenModel golden_;
  MakeDevice devices_;
  bool is_gpu_ = false;
  bool computes_as_reference_ = true;  ///< otherwise greedy tokens are known from a run alone, too
};

class PipelineGoldenTest : public PipelineGolden,
                           public testing::WithParamInterface<std::filesystem::path> {
 protected:
  void SetUp() override {
    open(GetParam());
    if (golden_.model.program) devices_ = host_devices(golden_.model);
  }
};

TEST_P(PipelineGoldenTest, GivesTheTokensOfTheReferenceAlone) { expect_reference_alone(); }
TEST_P(PipelineGoldenTest, GivesTheSameTokensWhateverElseRuns) { expect_same_beside_others(); }
TEST_P(PipelineGoldenTest, GivesTheSameTokensAfterGivingWay) { expect_same_after_giving_way(); }
TEST_P(PipelineGoldenTest, GivesTheSameTokensWhereTheBeginningIsThere) {
  expect_same_where_the_beginning_is_there();
}
TEST_P(PipelineGoldenTest, GivesTheSameTokensWhateverIsGuessed) {
  expect_same_whatever_is_guessed();
}

using KvAndName = std::tuple<DType, const char*>;

/// With keys and values rounded to codes, tokens may differ from the reference's, and from nothing
/// else.
class CodedKvPipelineTest : public PipelineGolden, public testing::WithParamInterface<KvAndName> {
 protected:
  void SetUp() override {
    open(committed_golden(std::get<1>(GetParam())));
    devices_ = host_devices(golden_.model, std::get<0>(GetParam()));
    computes_as_reference_ = false;
  }
};

TEST_P(CodedKvPipelineTest, GivesTheSameTokensWhateverElseRuns) { expect_same_beside_others(); }
TEST_P(CodedKvPipelineTest, GivesTheSameTokensAfterGivingWay) { expect_same_after_giving_way(); }
TEST_P(CodedKvPipelineTest, GivesTheSameTokensWhereTheBeginningIsThere) {
  expect_same_where_the_beginning_is_there();
}

using KindAndFolder = std::tuple<DeviceKind, std::filesystem::path>;

/// The same tests on GPUs: the fake one shows that plans are carried out as on the host, a real one
/// that its kernels can do every mix of them. Weights are widened to f32, since greedy tokens are
/// compared.
class GpuPipelineGoldenTest : public PipelineGolden,
                              public testing::WithParamInterface<KindAndFolder> {
 protected:
  void SetUp() override {
    const auto& [kind, folder] = GetParam();
    WEFT_SKIP_WITHOUT_GPU(kind);
    open(folder);
    if (!golden_.model.program) return;
    Program program = *golden_.model.program;
    for (MatrixPlan& matrix : program.matrices) matrix.dtype = DType::kF32;
    golden_.model.program = std::make_shared<const Program>(std::move(program));
    devices_ = devices_of(kind, golden_.model);
    is_gpu_ = true;
  }
};

TEST_P(GpuPipelineGoldenTest, GivesTheTokensOfTheReferenceAlone) { expect_reference_alone(); }
TEST_P(GpuPipelineGoldenTest, GivesTheSameTokensWhateverElseRuns) { expect_same_beside_others(); }
TEST_P(GpuPipelineGoldenTest, GivesTheSameTokensAfterGivingWay) { expect_same_after_giving_way(); }
TEST_P(GpuPipelineGoldenTest, GivesTheSameTokensWhereTheBeginningIsThere) {
  expect_same_where_the_beginning_is_there();
}
TEST_P(GpuPipelineGoldenTest, GivesTheSameTokensWhateverIsGuessed) {
  expect_same_whatever_is_guessed();
}

// Models with each kind of block to which a sequence's row could matter: rotary and learned
// positions, ALiBi, sliding windows, sinks, experts, LongRoPE, an encoder, gates, growing queries.
std::vector<std::filesystem::path> committed() {
  std::vector<std::filesystem::path> folders;
  for (const char* name : {"afmoe", "bloom", "gemma3", "gpt2", "gpt_oss", "llama", "m2m100",
                           "ministral3", "mistral", "mixtral", "phi3-longrope", "t5"}) {
    folders.push_back(committed_golden(name));
  }
  return folders;
}

std::vector<std::filesystem::path> shared() {
  std::vector<std::filesystem::path> folders = shared_goldens();
  std::erase_if(folders, [](const auto& folder) { return folder.filename() == "bert"; });
  return folders;
}

std::string name_of(const testing::TestParamInfo<std::filesystem::path>& info) {
  return test_name(info.param);
}

std::string name_of_both(const testing::TestParamInfo<KindAndFolder>& info) {
  return std::get<0>(info.param).name + "_" + test_name(std::get<1>(info.param));
}

// The loops of the fake GPU take seconds for a model.
std::vector<KindAndFolder> gpu_cases() {
  std::vector<KindAndFolder> cases;
  for (const char* name : {"llama", "m2m100"}) {
    cases.emplace_back(fake_gpu_kind(), committed_golden(name));
  }
  for (const auto& folder : committed()) cases.emplace_back(gpu_kind(), folder);
  // A real GPU has time for the other families, too.
  for (const char* name : {"falcon", "gptj", "llama-llama3", "opt", "qwen2", "qwen3"}) {
    cases.emplace_back(gpu_kind(), committed_golden(name));
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Committed, PipelineGoldenTest, testing::ValuesIn(committed()), name_of);
INSTANTIATE_TEST_SUITE_P(Shared, PipelineGoldenTest, testing::ValuesIn(shared()), name_of);
INSTANTIATE_TEST_SUITE_P(Committed, CodedKvPipelineTest,
                         testing::Values(KvAndName(DType::kI8, "gpt_oss"),
                                         KvAndName(DType::kI8, "t5"),
                                         KvAndName(DType::kF8_E4M3, "llama")),
                         [](const auto& kind) {
                           return std::string(kv_dtype_name(std::get<0>(kind.param))) + "_" +
                                  std::get<1>(kind.param);
                         });
INSTANTIATE_TEST_SUITE_P(Committed, GpuPipelineGoldenTest, testing::ValuesIn(gpu_cases()),
                         name_of_both);

}  // namespace
}  // namespace weft::test
