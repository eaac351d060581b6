#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/core/kv_dtype.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/kernels/sample/sample.h"
#include "weft/kernels/simd/cpu_features.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/convert/gguf_model.h"
#include "weft/model/open_model.h"
#include "weft/model/program/program.h"
#include "weft/model/random_llama.h"
#include "weft/model/spec/architecture.h"
#include "weft/model/spec/spec.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/golden_runs.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::feed_in_pieces;
using test::relative_error;
using testing::ContainerEq;
using testing::IsEmpty;

using Rows = test::ReferenceNumbers::Rows;

// How far float32 may differ in another order of summation, as a part of the row's norm.
constexpr double kTolerance = 1e-4;
// How far results may differ when other intermediate numbers are rounded to bf16.
constexpr double kNarrowTolerance = 2e-2;
// How far results may differ with keys and values in int8, whose step is 1/127 of the greatest, and
// in fp8, whose step is 1/8 of a number's power of two. With random routers that is enough to
// choose other experts.
constexpr double kInt8Tolerance = 2e-2;
constexpr double kFp8Tolerance = 1.5e-1;
// How far half the rows may differ where the host does not round the inputs of products as GPUs do.
constexpr double kOneSidedTolerance = 3e-2;
constexpr std::int64_t kContext = 128;

TokenId best(const std::vector<float>& logits) { return sample(logits, {}, {}); }

/// A folder with a checkpoint and expected.safetensors.
class GoldenFixture : public testing::Test {
 protected:
  void open(const fs::path& folder) {
    if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not here";
    const auto golden = test::GoldenModel::open(folder);
    ASSERT_TRUE(golden) << to_string(golden.error());
    checkpoint_ = golden->model.checkpoint;
    program_ = golden->model.program;
    layers_ = golden->model.architecture->decoder.layers.size();
    expected_ = golden->expected;
    ASSERT_TRUE(expected_->has_prompt(0));
  }

  [[nodiscard]] std::unique_ptr<ModelDevice> device(const test::DeviceKind& kind) const {
    DeviceOptions options = SequenceRunner::options_for(*program_, kContext);
    options.kv_dtype = kind.kv_dtype;
    return kind.load(checkpoint_, program_, options);
  }
  [[nodiscard]] std::unique_ptr<ModelDevice> device(int threads) const {
    return device(test::host_kind(threads));
  }

  /// Returns the decoder's tokens for prompt `i`, after the encoder has read where there is one (an
  /// encoder's prompt is all there is of it).
  [[nodiscard]] std::vector<TokenId> start(SequenceRunner& runner, int i) const {
    std::vector<TokenId> prompt = expected_->ids("prompt_", i);
    if (!program_->has_encoder) return prompt;
    runner.encode(prompt).value();
    std::vector<TokenId> answer = expected_->ids("greedy_", i);
    answer.pop_back();
    return answer;
  }

  /// Runs all prompts, each at once or in pieces.
  [[nodiscard]] std::vector<Rows> run(ModelDevice& device, std::size_t piece) const {
    std::vector<Rows> results;
    for (int i = 0; expected_->has_prompt(i); ++i) {
      SequenceRunner runner(device);
      const std::vector<TokenId> ids = start(runner, i);
      results.push_back(feed_in_pieces(runner, ids, std::min(piece, ids.size())));
    }
    return results;
  }

  void expect_reference(const std::vector<Rows>& got) const {
    const std::string kind = program_->has_logits ? "logits_" : "hidden_";
    ASSERT_THAT(got, testing::Not(IsEmpty()));
    for (std::size_t i = 0; i < got.size(); ++i) {
      expect_close(got[i], expected_->rows(kind, static_cast<int>(i)), kTolerance, i);
    }
  }

  /// Returns the median over all rows. Some rows are far off if a random router chooses other
  /// experts.
  [[nodiscard]] double median_error(const std::vector<Rows>& got) const {
    const std::string kind = program_->has_logits ? "logits_" : "hidden_";
    std::vector<Rows> wanted;
    for (std::size_t i = 0; i < got.size(); ++i) {
      wanted.push_back(expected_->rows(kind, static_cast<int>(i)));
    }
    return median_error(got, wanted);
  }
  static double median_error(const std::vector<Rows>& got, const std::vector<Rows>& wanted) {
    std::vector<double> errors;
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].size(), wanted[i].size()) << "prompt " << i;
      for (std::size_t row = 0; row < wanted[i].size(); ++row) {
        errors.push_back(relative_error(got[i][row], wanted[i][row]));
      }
    }
    const auto middle = errors.begin() + std::ssize(errors) / 2;
    std::ranges::nth_element(errors, middle);
    return *middle;
  }

  static void expect_close(const Rows& got, const Rows& wanted, double tolerance, std::size_t i) {
    ASSERT_EQ(got.size(), wanted.size()) << "prompt " << i;
    for (std::size_t row = 0; row < wanted.size(); ++row) {
      ASSERT_EQ(got[row].size(), wanted[row].size());
      EXPECT_LE(relative_error(got[row], wanted[row]), tolerance)
          << "prompt " << i << ", row " << row;
    }
  }

  static constexpr std::size_t kAtOnce = 1000;

  std::shared_ptr<const Checkpoint> checkpoint_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const test::ReferenceNumbers> expected_;
  std::size_t layers_ = 0;  // of the decoder
};

class GoldenModelTest : public GoldenFixture, public testing::WithParamInterface<fs::path> {
 protected:
  void SetUp() override { open(GetParam()); }
};

TEST_P(GoldenModelTest, ComputesWhatTheReferenceComputes) {
  expect_reference(run(*device(2), kAtOnce));
}

TEST_P(GoldenModelTest, ChoosesTheTokensThatTheReferenceChooses) {
  if (!program_->generates()) GTEST_SKIP() << "an encoder generates nothing";
  const auto device = this->device(1);
  for (int i = 0; expected_->has_prompt(i); ++i) {
    const std::vector<TokenId> wanted = expected_->ids("greedy_", i);
    SequenceRunner runner(*device);
    std::vector<TokenId> input = expected_->ids("prompt_", i);
    std::vector<TokenId> got;
    if (program_->has_encoder) {
      runner.encode(input).value();
      got = input = {static_cast<TokenId>(program_->start_token)};
    }
    while (got.size() < wanted.size()) {
      got.push_back(best(feed_in_pieces(runner, input, kAtOnce).back()));
      input = {got.back()};
    }
    EXPECT_THAT(got, ContainerEq(wanted)) << "prompt " << i;
  }
}

TEST_P(GoldenModelTest, StaysNearTheReferenceWithKeysAndValuesAsCodes) {
  for (const auto& [dtype, tolerance] :
       {std::pair(DType::kI8, kInt8Tolerance), std::pair(DType::kF8_E4M3, kFp8Tolerance)}) {
    const double error = median_error(run(*device(test::host_kind(2, dtype)), kAtOnce));
    EXPECT_LE(error, tolerance) << kv_dtype_name(dtype);
    EXPECT_GT(error, kTolerance) << kv_dtype_name(dtype) << " rounds";
  }
}

TEST_P(GoldenModelTest, GivesTheSameBitsTokenByTokenAsAtOnce) {
  if (!program_->causal) GTEST_SKIP() << "an encoder takes its sequence at once";
  const auto device = this->device(1);
  EXPECT_EQ(run(*device, 1), run(*device, kAtOnce));
}

TEST_P(GoldenModelTest, GivesTheSameBitsOnAnyNumberOfThreads) {
  const std::vector<Rows> alone = run(*device(1), kAtOnce);
  for (const int threads : {2, 3}) {
    EXPECT_EQ(run(*device(threads), kAtOnce), alone) << threads << " threads";
  }
}

TEST_P(GoldenModelTest, KnowsEveryTensorOfTheCheckpoint) {
  EXPECT_THAT(program_->unused_tensors, IsEmpty());
}

using KindAndFolder = std::tuple<test::DeviceKind, fs::path>;

/// The golden models on GPUs: on the fake one everywhere, which shows that programs, weights and
/// steps fit together, and on a real one where there is one.
class GpuGoldenModelTest : public GoldenFixture, public testing::WithParamInterface<KindAndFolder> {
 protected:
  void SetUp() override {
    WEFT_SKIP_WITHOUT_GPU(std::get<0>(GetParam()));
    open(std::get<1>(GetParam()));
    if (std::get<0>(GetParam()).stages > layers_) {
      GTEST_SKIP() << "the model has fewer layers than there are stages";
    }
  }
  [[nodiscard]] std::unique_ptr<ModelDevice> gpu() const { return device(std::get<0>(GetParam())); }

  /// Gives the program's weights another type; a GPU rounds the operands of narrow ones.
  void convert(DType dtype) {
    Program program = *program_;
    for (MatrixPlan& matrix : program.matrices) matrix.dtype = dtype;
    program_ = std::make_shared<const Program>(std::move(program));
  }
};

TEST_P(GpuGoldenModelTest, ComputesWhatTheReferenceComputes) {
  convert(DType::kF32);
  expect_reference(run(*gpu(), kAtOnce));
}

TEST_P(GpuGoldenModelTest, ComputesPromptsInPieces) {
  if (!program_->causal) GTEST_SKIP() << "an encoder takes its sequence at once";
  convert(DType::kF32);
  expect_reference(run(*gpu(), 5));
}

TEST_P(GpuGoldenModelTest, ComputesInBf16WhatTheHostComputes) {
  convert(DType::kBF16);
  const std::vector<Rows> wanted = run(*device(2), kAtOnce);
  const std::vector<Rows> got = run(*gpu(), kAtOnce);
  ASSERT_EQ(got.size(), wanted.size());
  if (multiplies_bf16(cpu_target())) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      expect_close(got[i], wanted[i], kNarrowTolerance, i);
    }
  } else {
    EXPECT_LE(median_error(got, wanted), kOneSidedTolerance);
  }
}

/// Runs the tests with keys and values as codes.
class GpuCodedKvTest : public GpuGoldenModelTest {};

TEST_P(GpuCodedKvTest, StaysNearTheReference) {
  convert(DType::kF32);
  test::DeviceKind kind = std::get<0>(GetParam());
  for (const auto& [dtype, tolerance] :
       {std::pair(DType::kI8, kInt8Tolerance), std::pair(DType::kF8_E4M3, kFp8Tolerance)}) {
    kind.kv_dtype = dtype;
    const std::vector<Rows> got = run(*device(kind), kAtOnce);
    const double error = median_error(got);
    EXPECT_LE(error, tolerance) << kv_dtype_name(dtype);
    EXPECT_GT(error, kTolerance) << kv_dtype_name(dtype) << " rounds";
    // The host writes the same codes but for numbers that lie between two of them.
    EXPECT_LE(median_error(got, run(*device(test::host_kind(2, dtype)), kAtOnce)), tolerance / 4)
        << kv_dtype_name(dtype);
  }
}

using TilesCase = std::tuple<test::DeviceKind, std::int64_t, DType>;

/// Heads as large as real models have, and keys and values in bf16 or codes: what the kernels that
/// use a GPU's tensor cores are for. The goldens' heads are smaller.
class GpuTilesTest : public testing::TestWithParam<TilesCase> {
 protected:
  void SetUp() override { WEFT_SKIP_WITHOUT_GPU(std::get<0>(GetParam())); }

  /// Returns the logits for a sequence that is fed `piece` tokens at a time.
  [[nodiscard]] Rows run(const test::DeviceKind& kind, std::size_t piece) const {
    const std::int64_t head_size = std::get<1>(GetParam());
    // By other seeds a row in a hundred has numbers on the edge of two int8 codes, and up to 0.026.
    const RandomLlama llama({.layers = 1,
                             .hidden = 2 * head_size,
                             .ffn = 64,
                             .heads = 2,
                             .kv_heads = 1,
                             .context = kPlaces},
                            6);
    DeviceOptions options = SequenceRunner::options_for(*llama.program(), kPlaces);
    options.kv_dtype = std::get<2>(GetParam());
    const auto device = kind.load(llama.checkpoint(), llama.program(), options);
    SequenceRunner runner(*device);
    Rows rows;
    for (std::size_t at = 0; at < ids_.size(); at += piece) {
      const std::size_t count = std::min(piece, ids_.size() - at);
      runner
          .feed(
              std::span(ids_).subspan(at, count),
              [&](ConstRows results) {
                rows.emplace_back(results.row(0), results.row(0) + results.width);
              },
              true)
          .value();
    }
    return rows;
  }

  void expect_as_host(std::size_t piece) const {
    const Rows wanted = run(test::host_kind(2), piece);
    const Rows got = run(std::get<0>(GetParam()), piece);
    ASSERT_EQ(got.size(), wanted.size());
    // A number between two codes of fp8 may become either, and these are an eighth apart.
    const bool is_fp8 = std::get<2>(GetParam()) == DType::kF8_E4M3;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_LE(relative_error(got[i], wanted[i]), (is_fp8 ? 3 : 1) * kNarrowTolerance)
          << "piece " << i;
    }
  }

  static constexpr std::int64_t kPlaces = 112;
  const std::vector<TokenId> ids_ = [] {
    std::vector<TokenId> ids;
    for (TokenId i = 0; i < 100; ++i) ids.push_back(i * 31 % 80);
    return ids;
  }();
};

TEST_P(GpuTilesTest, ReadPromptsAsTheHost) { expect_as_host(67); }
TEST_P(GpuTilesTest, DecodeAsTheHost) { expect_as_host(1); }

std::string name_of(const testing::TestParamInfo<fs::path>& info) {
  return test::test_name(info.param);
}
std::string name_of_both(const testing::TestParamInfo<KindAndFolder>& info) {
  return std::get<0>(info.param).name + "_" + test::test_name(std::get<1>(info.param));
}

std::string name_of_tiles(const testing::TestParamInfo<TilesCase>& info) {
  return std::get<0>(info.param).name + "_heads_of_" + std::to_string(std::get<1>(info.param)) +
         "_" + std::string(kv_dtype_name(std::get<2>(info.param)));
}

std::vector<test::DeviceKind> gpus() {
  return {test::fake_gpu_kind(), test::gpu_kind(), test::fetching_gpu_kind()};
}

/// Ranks on GPUs and beside the host's, real ones for every model. The loops of fake ones take
/// seconds for each, so they have models of each kind of block that is cut: heads, experts, an
/// encoder, tables of positions.
std::vector<KindAndFolder> ranks_cases() {
  std::vector<KindAndFolder> cases;
  const auto whole_experts = test::fake_gpu_ranks_kind("fake_gpu_ep2", "cuda:0+cuda:1");
  for (const char* model : {"mixtral", "qwen2_moe", "gpt_oss"}) {
    cases.emplace_back(whole_experts, test::committed_golden(model));
    cases.emplace_back(test::gpu_ranks_kind("gpu_ep2", "cuda:0+cuda:1"),
                       test::committed_golden(model));
  }
  for (const auto& [name, partition] : {std::pair{"tp2", "cuda:0,cuda:1"},
                                        {"pp2", "cuda:0 | cuda:1"},
                                        {"tp2pp2", "cuda:0,cuda:1 | cuda:2,cuda:3"},
                                        {"tp4", "cuda:0,cuda:1,cuda:2,cuda:3"},
                                        {"then_host", "cuda:0 | cpu"},
                                        {"after_host", "cpu | cuda:0"}}) {
    const auto fake = test::fake_gpu_ranks_kind(std::string("fake_gpu_") + name, partition);
    for (const char* model : {"gemma2", "gpt2", "llama", "mixtral", "t5"}) {
      cases.emplace_back(fake, test::committed_golden(model));
    }
    const auto gpus = test::gpu_ranks_kind(std::string("gpu_") + name, partition);
    const bool in_stages = std::string_view(partition).find('|') != std::string_view::npos;
    for (const fs::path& folder : test::committed_goldens()) {
      // Its last layers read the keys of layers of another stage, which is refused.
      if (in_stages && folder == test::committed_golden("gemma4-e")) continue;
      cases.emplace_back(gpus, folder);
    }
  }
  return cases;
}

/// The loops of a fake GPU take a second for heads of 128.
std::vector<TilesCase> tiles_cases() {
  std::vector<TilesCase> cases = {{test::fake_gpu_kind(), 128, DType::kBF16}};
  for (const DType dtype : {DType::kBF16, DType::kI8, DType::kF8_E4M3}) {
    cases.emplace_back(test::fake_gpu_kind(), 64, dtype);
    for (const std::int64_t head_size : {64, 80, 96, 128, 256}) {
      cases.emplace_back(test::gpu_kind(), head_size, dtype);
    }
  }
  return cases;
}

/// Every model on a real GPU; on fake ones each kind of attention.
std::vector<KindAndFolder> coded_kv_cases() {
  std::vector<KindAndFolder> cases;
  for (const char* model : {"bloom", "gemma2", "gpt2", "gpt_oss", "llama", "t5"}) {
    cases.emplace_back(test::fake_gpu_kind(), test::committed_golden(model));
  }
  for (const fs::path& folder : test::committed_goldens()) {
    cases.emplace_back(test::gpu_kind(), folder);
  }
  return cases;
}

/// Runs the tests with the models as GGUF files: other names, other metadata, permuted rows. Tests
/// above check the content of their programs.
class GgufGoldenModelTest : public GoldenFixture, public testing::WithParamInterface<fs::path> {
 protected:
  void SetUp() override { open(GetParam()); }
};

TEST_P(GgufGoldenModelTest, ComputesWhatTheReferenceComputes) {
  expect_reference(run(*device(1), kAtOnce));
}

/// The folders' models in the form that `weft quantize FOLDER OUT.gguf` writes.
class WrittenAsGgufTest : public GoldenFixture {
 protected:
  /// Opens the model of a folder and takes its place; empty, or why that cannot be.
  std::string write_as_gguf(const fs::path& folder) {
    const OpenedModel model = open_model(folder).value();
    checkpoint_ = model.checkpoint;
    program_ = model.program;
    auto written = make_gguf_model(*model.family, model.checkpoint, *model.program, nullptr);
    if (!written) return to_string(written.error());
    written_ = std::make_unique<GgufModel>(std::move(*written));
    return {};
  }

  void take_written() {
    checkpoint_ = written_->checkpoint;
    program_ = written_->program;
    EXPECT_EQ(checkpoint_->format(), CheckpointFormat::kGguf);
    EXPECT_THAT(program_->unused_tensors, IsEmpty());
  }

  std::unique_ptr<GgufModel> written_;
};

class GoldenWrittenAsGgufTest : public WrittenAsGgufTest,
                                public testing::WithParamInterface<fs::path> {
 protected:
  /// Returns what GGUF cannot express, by the name of the folder. The specs of all other models
  /// name an architecture.
  static std::string_view missing(const std::string& name) {
    static const std::map<std::string, std::string_view> reasons = {
        {"baichuan-alibi", "rotary"},  // only files of 40 layers do not turn
        {"bert-decoder", "what its stacks are for"},
        {"cwm", "window 6' would be read as"},
        {"data2vec-decoder", "what its stacks are for"},
        {"ernie-decoder", "what its stacks are for"},
        {"falcon-alibi", "its sizes"},
        // The scale of the scores: files do not say it.
        {"gemma2", "scale 0.204124, window 6, soft cap 5' would be read as"},
        {"gemma3", "scale 0.204124, window 6' would be read as"},
        {"gemma3-nested", "scale 0.204124, window 6' would be read as"},
        {"laguna", "would be read as"},
        {"llama-dynamic", "its context"},
        {"llava_next", "window 6' would be read as"},
        {"ministral", "window 6' would be read as"},
        {"mistral", "window 6' would be read as"},
        {"phi", "q norm, k norm, turn 2 of 4 by halves"},
        {"phimoe", "route"},  // the margin
        {"roberta-decoder", "what its stacks are for"},
        {"smollm3", "rotary"},    // every fourth layer does not turn
        {"t5", "relative bias"},  // how far it reaches
        {"t5-gated", "relative bias"},
        {"umt5", "relative bias"},
        {"vaultgemma", "post_attention_norm.weight"},
    };
    const auto found = reasons.find(name);
    return found == reasons.end() ? std::string_view() : found->second;
  }
};

TEST_P(GoldenWrittenAsGgufTest, ComputesWhatTheReferenceComputesOrSaysWhatIsMissing) {
  open(GetParam());
  const std::string reason = write_as_gguf(GetParam());
  const std::string_view expected = missing(GetParam().filename().string());
  if (!expected.empty()) {
    EXPECT_THAT(reason, testing::HasSubstr(std::string(expected)));
    return;
  }
  const Spec spec = find_spec(*checkpoint_).value();
  if (!spec.tree().contains("gguf")) {
    EXPECT_THAT(reason, testing::HasSubstr(spec.name() + ": GGUF has no architecture"));
    return;
  }
  ASSERT_EQ(reason, "");
  take_written();
  expect_reference(run(*device(2), kAtOnce));
}

/// A golden whose config has other values, which GGUF can say.
struct ChangedGolden {
  std::string folder;
  boost::json::object changes;
};

class ChangedWrittenAsGgufTest : public WrittenAsGgufTest,
                                 public testing::WithParamInterface<ChangedGolden> {};

TEST_P(ChangedWrittenAsGgufTest, ComputesWhatTheFolderComputes) {
  const fs::path golden = test::committed_golden(GetParam().folder);
  const test::TempFolder folder;
  fs::create_symlink(golden / "model.safetensors", folder.path() / "model.safetensors");
  boost::json::object config =
      boost::json::parse(read_text_file(golden / "config.json", kAnySize).value()).as_object();
  boost::json::value* nested = config.if_contains("text_config");
  boost::json::object& fields = nested == nullptr ? config : nested->as_object();
  for (const auto& [key, value] : GetParam().changes) fields[key] = value;
  folder.write("config.json", boost::json::serialize(config));
  expected_ = std::make_shared<test::ReferenceNumbers>(golden / "expected.safetensors");
  ASSERT_EQ(write_as_gguf(folder.path()), "");
  const std::vector<Rows> wanted = run(*device(2), kAtOnce);
  take_written();
  const std::vector<Rows> got = run(*device(2), kAtOnce);
  for (std::size_t i = 0; i < wanted.size(); ++i) expect_close(got[i], wanted[i], kTolerance, i);
}

std::vector<ChangedGolden> changed_goldens() {
  const boost::json::object scale = {{"query_pre_attn_scalar", 4}};
  const boost::json::object distance = {{"relative_attention_max_distance", 128}};
  const boost::json::object open = {{"sliding_window", nullptr}};
  return {{"gemma2", scale},
          {"gemma3", scale},
          {"gemma3-nested", scale},
          {"laguna", {{"moe_router_logit_softcapping", 0.0}}},
          {"ministral", {{"layer_types", {"full_attention", "full_attention"}}}},
          {"mistral", open},
          {"phi", {{"qk_layernorm", false}}},
          {"phimoe", {{"router_jitter_noise", 0.01}}},
          {"smollm3", {{"no_rope_layers", {1, 1}}}},
          {"t5", distance},
          {"umt5", distance}};
}

TEST(GgufGoldenModelsTest, AreThereForEverySpecThatReadsGguf) {
  std::set<std::string> wanted;
  for (const Spec& spec : builtin_specs()) {
    const auto* gguf = spec.tree().if_contains("gguf");
    if (gguf != nullptr && gguf->as_object().contains("architectures")) wanted.insert(spec.name());
  }
  std::set<std::string> got;
  for (const fs::path& folder : test::committed_gguf_goldens()) {
    got.insert(find_spec(open_checkpoint(folder).value()).value().name());
  }
  EXPECT_EQ(got, wanted);
}

TEST_P(GgufGoldenModelTest, KnowsEveryTensorOfTheFile) {
  EXPECT_THAT(program_->unused_tensors, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Committed, GoldenWrittenAsGgufTest,
                         testing::ValuesIn(test::committed_goldens()), name_of);
INSTANTIATE_TEST_SUITE_P(Committed, ChangedWrittenAsGgufTest, testing::ValuesIn(changed_goldens()),
                         [](const auto& each) { return test::test_name(each.param.folder); });
INSTANTIATE_TEST_SUITE_P(Committed, GgufGoldenModelTest,
                         testing::ValuesIn(test::committed_gguf_goldens()), name_of);
INSTANTIATE_TEST_SUITE_P(Committed, GoldenModelTest, testing::ValuesIn(test::committed_goldens()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Shared, GoldenModelTest, testing::ValuesIn(test::shared_goldens()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(, GpuTilesTest, testing::ValuesIn(tiles_cases()), name_of_tiles);
INSTANTIATE_TEST_SUITE_P(Committed, GpuCodedKvTest, testing::ValuesIn(coded_kv_cases()),
                         name_of_both);
INSTANTIATE_TEST_SUITE_P(Committed, GpuGoldenModelTest,
                         testing::Combine(testing::ValuesIn(gpus()),
                                          testing::ValuesIn(test::committed_goldens())),
                         name_of_both);
INSTANTIATE_TEST_SUITE_P(Ranks, GpuGoldenModelTest, testing::ValuesIn(ranks_cases()), name_of_both);
INSTANTIATE_TEST_SUITE_P(Shared, GpuGoldenModelTest,
                         testing::Combine(testing::ValuesIn(gpus()),
                                          testing::ValuesIn(test::shared_goldens())),
                         name_of_both);

}  // namespace
}  // namespace weft
