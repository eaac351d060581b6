#include "weft/gpu/cuda/tuning/phi_tuner.h"

#include <gmock/gmock.h>

#include <cmath>
#include <memory>
#include <vector>

#include "weft/gpu/device_info.h"
#include "weft/gpu/sequence_runner.h"
#include "weft/model/random_llama.h"
#include "weft/tests/gpu/cuda/fake_runtime.h"

namespace weft::test {
namespace {

class PhiTunerTest : public testing::Test {
 public:
  cuda::PhiSearch search(const std::vector<std::vector<TokenId>>& texts) {
    auto options = SequenceRunner::options_for(*llama.program(), 16);
    options.threads = 1;
    const auto device = cuda::CudaDevice::load(std::make_unique<FakeRuntime>(gpu),
                                               llama.checkpoint(), llama.program(), options, {})
                            .value();
    return cuda::find_phi(*device, {}, texts).value();
  }

  std::shared_ptr<FakeGpu> gpu = std::make_shared<FakeGpu>();
  RandomLlama llama{LlamaShape{}, 11};
  std::vector<std::vector<TokenId>> prompts = cuda::random_prompts(80, 2, 12);
};

TEST_F(PhiTunerTest, ZeroIsTakenWhereNoRowIsComputedAgain) {
  gpu->recomputed = [](float) { return 0U; };
  const cuda::PhiSearch found = search(prompts);
  EXPECT_EQ(found.trials.size(), 1U);
  EXPECT_EQ(found.phi(), 0.0F);
}

TEST_F(PhiTunerTest, TheNearestToZeroThatComputesNoRowAgainIsTaken) {
  gpu->recomputed = [](float phi) { return std::abs(phi + 70) <= 35 ? 0U : 1U; };
  const cuda::PhiSearch found = search(prompts);
  EXPECT_EQ(found.phi(), -40.0F);
  // Two prompts, half of 12 tokens each, two layers: the first tokens are read at once.
  EXPECT_EQ(found.trials.front().recomputed, 2U * 6U * 2U);
}

TEST_F(PhiTunerTest, WhereEachComputesRowsAgainTheFewestAreToldAndNoneIsTaken) {
  gpu->recomputed = [](float phi) { return phi == 60 ? 1U : 3U; };
  const cuda::PhiSearch found = search(prompts);
  EXPECT_EQ(found.phi(), std::nullopt);
  EXPECT_EQ(found.best().phi, 60);
  EXPECT_EQ(found.best().recomputed, 24U);
}

TEST_F(PhiTunerTest, LongPromptsAreCutToTheContext) {
  gpu->recomputed = [](float) { return 0U; };
  EXPECT_EQ(search(cuda::random_prompts(80, 1, 400)).phi(), 0.0F);
}

TEST_F(PhiTunerTest, ATokenThatTheModelHasNotIsTold) {
  auto options = SequenceRunner::options_for(*llama.program(), 16);
  options.threads = 1;
  const auto device = cuda::CudaDevice::load(std::make_unique<FakeRuntime>(gpu), llama.checkpoint(),
                                             llama.program(), options, {})
                          .value();
  const std::vector<std::vector<TokenId>> wrong = {{1, 2, 80, 3}};
  const auto found = cuda::find_phi(*device, {}, wrong);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, DeviceErrc::kOutOfRange);
}

}  // namespace
}  // namespace weft::test
