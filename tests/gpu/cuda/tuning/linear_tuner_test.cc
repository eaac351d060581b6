#include "weft/gpu/cuda/tuning/linear_tuner.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/gpu/device_info.h"
#include "weft/model/random_llama.h"
#include "weft/tests/gpu/cuda/fake_runtime.h"

namespace weft::test {
namespace {

using cuda::LinearWay;
using cuda::ProductTime;
using testing::ElementsAre;

class LinearTunerTest : public testing::Test {
 public:
  LinearTunerTest() {
    gpu->can = [](LinearWay way, std::int64_t tokens) {
      return (way != LinearWay::kFlat && way != LinearWay::kFlatFetched) || tokens <= 2;
    };
    gpu->linear_seconds = [this](const cuda::CudaLinearParams& params) {
      weights[{params.weight.rows(), params.weight.stride}].insert(params.weight.data);
      return seconds(params.way, params.rows);
    };
  }

  [[nodiscard]] std::vector<ProductTime> times(const std::vector<std::int64_t>& tokens) const {
    FakeRuntime runtime(gpu);
    return cuda::time_products(runtime, *llama.program(), tokens).value();
  }

  std::shared_ptr<FakeGpu> gpu = std::make_shared<FakeGpu>();
  // By rows and stride.
  std::map<std::pair<std::int64_t, std::int64_t>, std::set<const void*>> weights;
  std::function<double(LinearWay way, std::int64_t tokens)> seconds = [](LinearWay, std::int64_t) {
    return 1e-4;
  };
  RandomLlama llama{LlamaShape{}, 11};
};

std::vector<LinearWay> ways_of(const ProductTime& time) {
  std::vector<LinearWay> ways;
  for (const auto& one : time.ways) ways.push_back(one.way);
  return ways;
}

TEST_F(LinearTunerTest, MeasuresEachProductOnceAtEachBucketByEveryWayThatCan) {
  const auto all = times({1, 2, 3, 4});
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
  for (const ProductTime& time : all) {
    EXPECT_TRUE(seen.emplace(time.shape.rows, time.shape.inputs, time.shape.tokens).second);
    // Few tokens take kFlat where it can, else the library.
    if (time.shape.tokens <= 2) {
      EXPECT_THAT(ways_of(time), ElementsAre(LinearWay::kFlat, LinearWay::kVector,
                                             LinearWay::kLibrary, LinearWay::kFlatFetched));
    } else {
      EXPECT_THAT(ways_of(time), ElementsAre(LinearWay::kLibrary, LinearWay::kVector));
    }
    for (const auto& way : time.ways) EXPECT_NEAR(way.seconds, 1e-4, 1e-8);
    EXPECT_GT(time.bytes, time.shape.rows * time.shape.inputs);
    EXPECT_EQ(time.fastest, 0U);
  }
  // qkv, attention's output, gate and up, down, logits; 3 and 4 tokens are one bucket.
  EXPECT_EQ(seen.size(), 5U * 3U);
}

TEST_F(LinearTunerTest, TheCheapestWayIsChosenForEachShape) {
  seconds = [](LinearWay way, std::int64_t tokens) {
    if (way == LinearWay::kVector) return tokens == 1 ? 1e-5 : 5e-4;
    return way == LinearWay::kLibrary ? 2e-4 : 2.5e-4;
  };
  for (const ProductTime& time : times({1, 2, 64})) {
    const LinearWay wanted = time.shape.tokens == 1 ? LinearWay::kVector : LinearWay::kLibrary;
    EXPECT_EQ(time.ways[time.fastest].way, wanted) << time.shape.tokens;
  }
}

TEST_F(LinearTunerTest, NoneOfTheWeightsIsInTheCacheWhenItsTurnComes) {
  gpu->l2_bytes = 1 << 18;
  static_cast<void>(times({1}));
  EXPECT_EQ(weights.size(), 5U);
  for (const auto& [size, places] : weights) {
    const std::int64_t bytes = size.first * size.second * std::int64_t{sizeof(std::uint16_t)};
    EXPECT_GE(std::ssize(places) * bytes, 4 << 18);
  }
}

TEST_F(LinearTunerTest, EncodedWeightsAreMeasuredByEveryWayThatTakesThem) {
  LlamaShape shape;
  shape.weights = DType::kQ4_0;
  llama = RandomLlama(shape, 11);
  int encoded = 0;
  for (const ProductTime& time : times({1, 8})) {
    if (time.shape.dtype != DType::kQ4_0) continue;
    ++encoded;
    if (time.shape.tokens == 1) {
      EXPECT_THAT(ways_of(time), ElementsAre(LinearWay::kVector, LinearWay::kDecoded));
    } else {
      EXPECT_THAT(ways_of(time), ElementsAre(LinearWay::kDecoded, LinearWay::kVector));
    }
  }
  EXPECT_GT(encoded, 0);
}

TEST(FastestOf, WantsMoreThanNoiseToReplaceTheDefault) {
  constexpr auto kFlat = LinearWay::kFlat;
  constexpr auto kVector = LinearWay::kVector;
  constexpr auto kLibrary = LinearWay::kLibrary;
  EXPECT_EQ(cuda::fastest_of({{kFlat, 1.0}}), 0U);
  EXPECT_EQ(cuda::fastest_of({{kFlat, 1.0}, {kVector, 0.99}}), 0U);
  EXPECT_EQ(cuda::fastest_of({{kFlat, 1.0}, {kVector, 0.97}}), 1U);
  EXPECT_EQ(cuda::fastest_of({{kFlat, 1.0}, {kVector, 0.97}, {kLibrary, 0.96}}), 2U);
  EXPECT_EQ(cuda::fastest_of({{kFlat, 1.0}, {kVector, 0.5}, {kLibrary, 0.99}}), 1U);
}

TEST_F(LinearTunerTest, EachCallThatFailsIsToldAndNothingIsKept) {
  static_cast<void>(times({1}));
  const std::int64_t calls = gpu->calls;
  // The last calls read the timers' ends, and nobody is left to be told of a failure.
  const std::int64_t step = std::max<std::int64_t>(calls / 50, 1);
  for (std::int64_t n = 0; n + 8 < calls; n += step) {
    gpu->calls = 0;
    gpu->fail_at = n;
    FakeRuntime runtime(gpu);
    const auto all = cuda::time_products(runtime, *llama.program(), {1});
    ASSERT_FALSE(all) << "call " << n;
    EXPECT_EQ(all.error().code, DeviceErrc::kDriver);
    EXPECT_EQ(gpu->taken, 0U);
  }
}

}  // namespace
}  // namespace weft::test
