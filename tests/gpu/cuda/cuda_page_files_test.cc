// Pages of a GPU in files.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/gpu/cuda/cuda_step_device.h"
#include "weft/gpu/cuda/step/cuda_page_memory.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/files/page_files.h"
#include "weft/model/random_llama.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/gpu/cuda/fake_runtime.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft::test {
namespace {

constexpr DeviceLimits kPageLimits{.rows = 3,
                                   .pages = 16,
                                   .page_tokens = 4,
                                   .step_tokens = 16,
                                   .context = 32,
                                   .vocabulary = LlamaShape{}.vocabulary};
const Tokens two_pages = {3, 17, 42, 9, 61, 5, 28, 70};

PageKey page_key(std::int32_t number) { return sha256(std::as_bytes(std::span(&number, 1))); }

struct GpuCase {
  std::string name;
  DType kv_dtype = DType::kF32;
  bool kv_on_host = false;
  bool is_real = false;
};

class CudaPageFilesTest : public testing::TestWithParam<GpuCase> {
 protected:
  void SetUp() override {
    if (GetParam().is_real && !has_gpu()) GTEST_SKIP() << "no GPU is here";
    limits_.kv_on_host = GetParam().kv_on_host;
  }

  /// A GPU and, for who copies pages behind its back, the same once more.
  [[nodiscard]] std::unique_ptr<cuda::Runtime> runtime(const std::shared_ptr<FakeGpu>& gpu) const {
    if (GetParam().is_real) return cuda::open_runtime(0).value();
    return std::make_unique<FakeRuntime>(gpu);
  }
  [[nodiscard]] std::unique_ptr<cuda::CudaStepDevice> device() const {
    return load_gpu_steps(runtime(std::make_shared<FakeGpu>()), llama_.checkpoint(),
                          llama_.program(), limits_, GetParam().kv_dtype)
        .value();
  }
  /// With the files that devices before it have left.
  [[nodiscard]] std::unique_ptr<cuda::CudaStepDevice> device_with_files() {
    auto made = device();
    auto memory = made->page_memory(runtime(copier_)).value();
    auto folder = PageFolder::open(temp_.path() / "pages", page_key(-1), memory->page_bytes(),
                                   std::int64_t{1} << 30U)
                      .value();
    made->use(std::make_shared<PageFiles>(std::move(folder), page_key(-1), std::move(memory),
                                          limits_.pages));
    return made;
  }

  /// Computes two pages of a prompt in these, and returns the first token behind them.
  TokenId compute(StepDevice& device, const Pages& pages, std::int32_t row = 0) {
    plan_.start(row, greedy(), 8).table(row, 0, pages).feed(row, 0, two_pages).sample();
    return plan_.run(device).samples.front().token;
  }
  /// The tokens and the last logprob behind two pages that a row has and `first`.
  std::pair<Tokens, float> go_on(StepDevice& device, TokenId first) {
    Tokens tokens{first};
    StepResult result;
    for (std::int32_t at = 8; at < 12; ++at) {
      result = plan_.feed(0, at, {tokens.back()}).sample().run(device);
      tokens.push_back(result.samples.front().token);
    }
    return {tokens, result.samples.front().logprob};
  }
  static std::int32_t read(PageFiles& files, std::vector<PageKey> keys, Pages pages) {
    const auto read = std::make_shared<PageRead>(std::move(keys), std::move(pages));
    files.read(read);
    std::int32_t done = 0;
    Duration took{};
    while (!files.is_over(*read, done, took)) std::this_thread::yield();
    return done;
  }

  const RandomLlama llama_{LlamaShape{}, 11};
  DeviceLimits limits_ = kPageLimits;
  const std::shared_ptr<FakeGpu> copier_ = std::make_shared<FakeGpu>();
  TempFolder temp_;
  PlanBuilder plan_;
};

TEST_P(CudaPageFilesTest, OutputsGoOnFromPagesThatOutliveTheirDevice) {
  const auto plain = device();
  const TokenId first = compute(*plain, {4, 5});
  plan_.table(0, 2, {6});
  const auto [wanted, logprob] = go_on(*plain, first);

  auto saver = device_with_files();
  EXPECT_EQ(compute(*saver, {4, 5}), first);
  ASSERT_TRUE(saver->page_files()->save(4, page_key(0)));
  ASSERT_TRUE(saver->page_files()->save(5, page_key(1)));
  saver.reset();  // what waits is written before

  const auto finder = device_with_files();
  ASSERT_EQ(read(*finder->page_files(), {page_key(0), page_key(1)}, {9, 2}), 2);
  plan_.start(0, greedy(), 8, two_pages).table(0, 0, {9, 2, 7});
  const auto [tokens, other] = go_on(*finder, first);
  EXPECT_EQ(tokens, wanted);
  EXPECT_NEAR(other, logprob, 1e-5);
  EXPECT_EQ(finder->page_files()->stats().failures, 0U);
}

TEST_P(CudaPageFilesTest, PagesAreCopiedBesideSteps) {
  const auto made = device_with_files();
  PageFiles& files = *made->page_files();
  const TokenId first = compute(*made, {4, 5});
  for (std::int32_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(files.save(4, page_key(2 * i)));
    ASSERT_TRUE(files.save(5, page_key(2 * i + 1)));
    EXPECT_EQ(compute(*made, {10, 11}, 1), first);  // ThreadSanitizer would see that
    while (!files.contains(page_key(2 * i + 1))) {
      ASSERT_EQ(files.stats().failures, 0U);
      std::this_thread::yield();
    }
    const auto reading = std::make_shared<PageRead>(
        std::vector{page_key(2 * i), page_key(2 * i + 1)}, Pages{12, 13});
    files.read(reading);
    EXPECT_EQ(compute(*made, {10, 11}, 1), first);
    files.cancel(*reading);
  }
  files.close();
  EXPECT_EQ(files.stats().failures, 0U);
}

TEST_P(CudaPageFilesTest, APageThatCameFromHostMemoryIsSavedAsItIsThere) {
  limits_.host_pages = 4;
  const std::int32_t place = limits_.pages + 1;
  auto saver = device_with_files();
  const TokenId first = compute(*saver, {4, 5});
  plan_.plan().copies = {{4, place}, {5, place + 1}};
  compute(*saver, {10, 11}, 1);
  plan_.plan().copies = {{place, 7}, {place + 1, 8}};  // beside the step
  compute(*saver, {10, 11}, 1);
  ASSERT_TRUE(saver->page_files()->save(7, page_key(0)));
  ASSERT_TRUE(saver->page_files()->save(8, page_key(1)));
  plan_.table(0, 0, {4, 5, 6});
  const auto [wanted, logprob] = go_on(*saver, first);
  saver.reset();

  const auto finder = device_with_files();
  ASSERT_EQ(read(*finder->page_files(), {page_key(0), page_key(1)}, {9, 2}), 2);
  plan_.start(0, greedy(), 8, two_pages).table(0, 0, {9, 2, 7});
  EXPECT_EQ(go_on(*finder, first).first, wanted);
}

TEST_P(CudaPageFilesTest, ClosedFilesHaveNoMemoryOfTheGpus) {
  if (GetParam().is_real) GTEST_SKIP() << "only the fake counts";
  const auto made = device_with_files();
  const auto held = made->page_files();
  EXPECT_GT(copier_->pinned, 0U);
  EXPECT_EQ(copier_->taken, 0U) << "of the GPU itself";
  held->close();
  EXPECT_EQ(copier_->pinned, 0U);
}

TEST_P(CudaPageFilesTest, WhatTheGpuDoesNotCopyIsToldAndNotRead) {
  if (GetParam().is_real) GTEST_SKIP() << "a GPU fails when it likes";
  auto made = device_with_files();
  compute(*made, {4, 5});
  ASSERT_TRUE(made->page_files()->save(4, page_key(0)));
  made.reset();
  for (std::int64_t n = 0; n < 3; ++n) {  // choosing the GPU, copying, waiting
    made = device_with_files();
    std::vector<std::string> told;
    made->page_files()->tell_by([&told](const std::string& what) { told.push_back(what); });
    copier_->fail_at = copier_->calls + n;
    EXPECT_EQ(read(*made->page_files(), {page_key(0)}, {1}), 0) << "call " << n;
    ASSERT_TRUE(made->page_files()->save(4, page_key(7)));
    made->page_files()->close();
    EXPECT_EQ(made->page_files()->stats().failures, 2U) << "call " << n;
    ASSERT_EQ(told.size(), 2U);
    EXPECT_NE(told[0].find("cache.folder: reading pages"), std::string::npos) << told[0];
    EXPECT_NE(told[1].find("cache.folder: writing pages"), std::string::npos) << told[1];
    EXPECT_EQ(made->page_files()->stats().pages, 1U) << "the file is as it was";
    made.reset();
    copier_->fail_at = -1;
  }
}

TEST_P(CudaPageFilesTest, WhoeverFailsToPrepareForCopyingSaysSo) {
  if (GetParam().is_real) GTEST_SKIP() << "a GPU fails when it likes";
  const auto made = device();
  {
    ASSERT_TRUE(made->page_memory(runtime(copier_)));
  }
  const std::int64_t calls = copier_->calls - 1;  // the last one gives all back
  ASSERT_GE(calls, 3);
  for (std::int64_t n = 0; n < calls; ++n) {
    copier_->fail_at = copier_->calls + n;
    const auto memory = made->page_memory(runtime(copier_));
    ASSERT_FALSE(memory) << "call " << n;
    EXPECT_EQ(memory.error().code, DeviceErrc::kDriver);
    EXPECT_EQ(copier_->pinned, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaPageFilesTest,
                         testing::Values(GpuCase{"fake_gpu"}, GpuCase{"fake_gpu_int8", DType::kI8},
                                         GpuCase{"fake_gpu_kv_on_host", DType::kF32, true},
                                         GpuCase{"gpu", DType::kF32, false, true},
                                         GpuCase{"gpu_int8", DType::kI8, false, true},
                                         GpuCase{"gpu_kv_on_host", DType::kF32, true, true}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace weft::test
