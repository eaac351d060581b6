#include "weft/gpu/host/host_capacity.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "weft/gpu/device_info.h"
#include "weft/gpu/host/host_step_device.h"
#include "weft/gpu/host/host_weights.h"
#include "weft/gpu/memory/device_capacity.h"
#include "weft/gpu/step_options.h"
#include "weft/model/random_llama.h"
#include "weft/tests/fixture/golden_model.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft::test {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kPlenty = 4096 * kMebibyte;
constexpr std::int64_t kContext = 256;

class HostCapacityTest : public testing::Test {
 protected:
  [[nodiscard]] const Program& program() const { return *llama_.program(); }

  /// Returns what a device of these limits takes, weights included.
  [[nodiscard]] std::int64_t taken(const DeviceLimits& limits) const {
    const auto options = step_options(program(), limits, DType::kF32, 1);
    return HostWeights::bytes(program()) + HostDevice::memory_bytes(program(), options);
  }

  RandomLlama llama_{LlamaShape{.context = kContext}, 1};
};

TEST_F(HostCapacityTest, TakesWhatAllRowsCanUseWhereThereIsPlenty) {
  const DeviceLimits limits = host_capacity(program(), {}, kPlenty).value();
  EXPECT_EQ(limits.rows, 256);
  EXPECT_EQ(limits.context, kContext);
  EXPECT_EQ(limits.page_tokens, 16);
  EXPECT_EQ(limits.pages, 256 * kContext / 16);
  EXPECT_EQ(limits.step_tokens, 512);
  EXPECT_EQ(limits.cross_pages, 0);
  EXPECT_EQ(limits.vocabulary, program().vocabulary);
}

TEST_F(HostCapacityTest, OfALongContextOnlyTheWindowNeedsPagesWhereAllLayersHaveOne) {
  Program slides = program();
  slides.window = 64;
  const CapacityWishes wishes{.rows = 4, .step_tokens = 32};
  const DeviceLimits limits = host_capacity(slides, wishes, kPlenty).value();
  EXPECT_EQ(limits.window, 64);
  EXPECT_EQ(limits.context, kContext);
  constexpr std::int32_t kHeld = 7;  // 95 positions from within a page on
  EXPECT_EQ(limits.held_pages_for(kContext), kHeld);
  EXPECT_EQ(limits.pages, 4 * kContext / 16) << "others find those before the window";
  CapacityWishes few = wishes;
  few.pages = kHeld;
  few.context = kContext;
  EXPECT_EQ(host_capacity(slides, few, kPlenty).value().pages, kHeld);
  EXPECT_THAT(host_capacity(program(), few, kPlenty),
              FailsWith(DeviceErrc::kOutOfMemory, "7 pages"));
  few.pages = kHeld - 1;
  EXPECT_THAT(host_capacity(slides, few, kPlenty), FailsWith(DeviceErrc::kOutOfMemory, "6 pages"));
  CapacityWishes slabs = wishes;
  slabs.slabs = true;
  EXPECT_EQ(host_capacity(slides, slabs, kPlenty).value().pages, 4 * kContext / 16);
}

TEST_F(HostCapacityTest, GuessesTakeMemoryAndPagesBehindTheWindow) {
  Program slides = program();
  slides.window = 64;
  CapacityWishes wishes{.rows = 4, .step_tokens = 4};
  const DeviceLimits plain = host_capacity(slides, wishes, kPlenty).value();
  wishes.guesses = 20;
  const DeviceLimits limits = host_capacity(slides, wishes, kPlenty).value();
  EXPECT_EQ(limits.guesses, 20);
  EXPECT_EQ(limits.step_outputs(), 4) << "a step's tokens";
  // 64 + 3 positions from within a page on; 64 + 40 where 20 guesses may be right, and 20 follow.
  EXPECT_EQ(plain.held_pages_for(kContext), 6);
  EXPECT_EQ(limits.held_pages_for(kContext), 8);
  EXPECT_GT(host_needs(slides, wishes).bytes(limits), host_needs(slides, wishes).bytes(plain));
}

TEST_F(HostCapacityTest, ADeviceWithStateMakesNoGuesses) {
  DeviceNeeds needs;
  needs.bytes = [](const DeviceLimits& limits) { return std::int64_t{limits.pages}; };
  needs.page_bytes = 1;
  CapacityWishes wishes{.rows = 2};
  wishes.guesses = 4;
  EXPECT_EQ(device_capacity(program(), wishes, kPlenty, needs).value().guesses, 4);
  needs.state_bytes = 1;
  EXPECT_EQ(device_capacity(program(), wishes, kPlenty, needs).value().guesses, 0);
}

TEST_F(HostCapacityTest, FillsTheMemoryThatItMayTakeAndNoMore) {
  const CapacityWishes wishes{.memory_fraction = 0.5, .rows = 32};
  const DeviceLimits most = host_capacity(program(), wishes, kPlenty).value();
  ASSERT_EQ(most.pages, 32 * most.pages_per_row());
  for (const std::int64_t part : {4, 2}) {
    const std::int64_t free_bytes = 2 * (taken(most) - taken(most) / part / 4);
    const DeviceLimits limits = host_capacity(program(), wishes, free_bytes).value();
    EXPECT_LT(limits.pages, most.pages);
    EXPECT_LE(taken(limits), free_bytes / 2);
    // It is not far below it either: besides KV, rows take less than an eighth here.
    EXPECT_GE(taken(limits), free_bytes / 2 * 7 / 8);
  }
}

TEST_F(HostCapacityTest, TakesNoMoreBytesThanItIsGiven) {
  const DeviceLimits most = host_capacity(program(), {.rows = 32}, kPlenty).value();
  const CapacityWishes wishes{.memory_bytes = taken(most) * 3 / 4, .rows = 32};
  const DeviceLimits limits = host_capacity(program(), wishes, kPlenty).value();
  EXPECT_LT(limits.pages, most.pages);
  EXPECT_LE(taken(limits), wishes.memory_bytes);
  EXPECT_THAT(host_capacity(program(), {.memory_bytes = kPlenty}, 1),
              FailsWith(DeviceErrc::kOutOfMemory, "of 1 MiB that may be taken"));
}

TEST_F(HostCapacityTest, TakesFewerRowsWhereTheirBuffersWouldLeaveNoRoomForPages) {
  DeviceLimits smallest = host_capacity(program(), {.rows = 8}, kPlenty).value();
  const DeviceLimits limits = host_capacity(program(), {}, 2 * taken(smallest)).value();
  EXPECT_LT(limits.rows, 256);
  EXPECT_GE(limits.rows, 1);
  EXPECT_GE(limits.pages, limits.pages_per_row());
  EXPECT_LE(taken(limits), 2 * taken(smallest));
}

TEST_F(HostCapacityTest, HasAsManyRowsWhateverTheWeightsOfOtherRanksTakeBesideIt) {
  const CapacityWishes wishes{.memory_fraction = 1};
  const std::int64_t free_bytes = 2 * taken(host_capacity(program(), {.rows = 8}, kPlenty).value());
  const DeviceLimits alone = host_capacity(program(), wishes, free_bytes).value();
  DeviceNeeds needs = host_needs(program(), wishes);
  const std::int64_t others = 10 * free_bytes;
  needs.weight_bytes += others;
  needs.bytes = [own = needs.bytes, others](const DeviceLimits& limits) {
    return own(limits) + others;
  };
  const DeviceLimits limits =
      device_capacity(program(), wishes, free_bytes + others, needs).value();
  EXPECT_EQ(limits.rows, alone.rows);
  EXPECT_EQ(limits.pages, alone.pages);
}

TEST_F(HostCapacityTest, ObeysWishes) {
  const CapacityWishes wishes{
      .rows = 3, .pages = 7, .page_tokens = 4, .context = 20, .step_tokens = 1};
  const DeviceLimits limits = host_capacity(program(), wishes, kPlenty).value();
  EXPECT_EQ(limits.rows, 3);
  EXPECT_EQ(limits.pages, 7);
  EXPECT_EQ(limits.page_tokens, 4);
  EXPECT_EQ(limits.context, 20);
  // All rows advance in one step.
  EXPECT_EQ(limits.step_tokens, 3);
}

TEST_F(HostCapacityTest, RefusesALongerContextThanTheModelKnows) {
  EXPECT_THAT(
      host_capacity(program(), {.context = kContext + 1}, kPlenty),
      FailsWith(DeviceErrc::kUnfit, "max_context: 257 is more than the model's 256 positions"));
}

TEST_F(HostCapacityTest, HoldsNoMorePagesThanRowsUse) {
  const CapacityWishes wishes{.rows = 2, .pages = 1000, .context = kContext};
  const DeviceLimits limits = host_capacity(program(), wishes, kPlenty).value();
  EXPECT_EQ(limits.context, kContext);
  EXPECT_EQ(limits.pages, 2 * kContext / 16);
}

TEST_F(HostCapacityTest, ShortensTheContextToWhatTheMemoryHolds) {
  const CapacityWishes wishes{.memory_fraction = 1, .rows = 1};
  const DeviceLimits all = host_capacity(program(), wishes, kPlenty).value();
  const std::int64_t page =
      HostDevice::page_bytes(program(), step_options(program(), all, DType::kF32, 1));
  const DeviceLimits limits =
      host_capacity(program(), wishes, taken(all) - all.pages / 2 * page).value();
  EXPECT_LT(limits.context, kContext);
  EXPECT_EQ(limits.context, limits.pages * 16);
}

TEST_F(HostCapacityTest, RefusesPagesThatDoNotHoldTheModelsContextUnlessAShorterOneIsAskedFor) {
  CapacityWishes wishes{.rows = 2, .pages = 5};
  EXPECT_THAT(host_capacity(program(), wishes, kPlenty),
              FailsWith(DeviceErrc::kOutOfMemory,
                        "5 pages of 16 tokens hold less than a context of 256; max_context"));
  wishes.context = 80;
  EXPECT_EQ(host_capacity(program(), wishes, kPlenty).value().context, 80);
}

TEST_F(HostCapacityTest, RefusesAContextThatThePagesDoNotHold) {
  const CapacityWishes wishes{.rows = 2, .pages = 5, .context = 100};
  EXPECT_THAT(
      host_capacity(program(), wishes, kPlenty),
      FailsWith(DeviceErrc::kOutOfMemory, "5 pages of 16 tokens hold less than a context of 100"));
}

TEST_F(HostCapacityTest, PlacesInHostMemoryAreAsManyAsPagesFitThere) {
  const std::int64_t page =
      HostDevice::page_bytes(program(), step_options(program(), {}, DType::kF32, 1));
  DeviceNeeds needs;
  needs.bytes = [&](const DeviceLimits& limits) { return limits.pages * page; };
  needs.page_bytes = page;
  CapacityWishes wishes{.pages = 100, .host_bytes = 5 * page + page / 2};
  EXPECT_EQ(device_capacity(program(), wishes, kPlenty, needs).value().host_pages, 5);
  wishes.host_bytes = std::int64_t{1} << 50;
  const DeviceLimits most = device_capacity(program(), wishes, kPlenty, needs).value();
  EXPECT_GT(std::int64_t{most.pages} + most.host_pages, 0) << "they are numbered together";
  EXPECT_LE(std::int64_t{most.pages} + most.host_pages, std::numeric_limits<std::int32_t>::max());
  wishes.slabs = true;
  EXPECT_EQ(device_capacity(program(), wishes, kPlenty, needs).value().host_pages, 0);
}

TEST_F(HostCapacityTest, RowsStatesTakeMemoryThatPagesThenLack) {
  constexpr std::int64_t kPage = 1000;
  DeviceNeeds needs;
  needs.bytes = [](const DeviceLimits& limits) { return limits.pages * kPage; };
  needs.page_bytes = kPage;
  const CapacityWishes wishes{.memory_fraction = 1, .rows = 4, .context = 64};
  EXPECT_EQ(device_capacity(program(), wishes, 12 * kPage, needs).value().pages, 12);
  needs.state_bytes = 1500;
  const DeviceLimits limits = device_capacity(program(), wishes, 12 * kPage, needs).value();
  EXPECT_EQ(limits.pages, 6) << "and 6 for the states of 4 rows";
  EXPECT_EQ(limits.state_bytes, 1500);
  EXPECT_EQ(limits.snapshot_pages, 2);
  EXPECT_GT(limits.snapshot_every, 0);
}

TEST_F(HostCapacityTest, EveryRowHasAWholeSlab) {
  const CapacityWishes wishes{.memory_fraction = 1, .slabs = true};
  const DeviceLimits most = host_capacity(program(), wishes, kPlenty).value();
  EXPECT_EQ(most.rows, 256);
  EXPECT_EQ(most.pages, most.rows * most.pages_per_row());
  const DeviceLimits fewer = host_capacity(program(), wishes, taken(most) / 4).value();
  EXPECT_LT(fewer.rows, most.rows);
  EXPECT_EQ(fewer.context, kContext);
  EXPECT_EQ(fewer.pages, fewer.rows * fewer.pages_per_row());
}

TEST_F(HostCapacityTest, RowsThatWereAskedForHaveShorterSlabs) {
  const CapacityWishes wishes{.rows = 5, .pages = 37, .slabs = true};
  const DeviceLimits limits = host_capacity(program(), wishes, kPlenty).value();
  EXPECT_EQ(limits.rows, 5);
  EXPECT_EQ(limits.context, 7 * 16);
  EXPECT_EQ(limits.pages, 5 * 7);
}

TEST_F(HostCapacityTest, RefusesSlabsThatThePagesDoNotHold) {
  const CapacityWishes both{.rows = 5, .pages = 37, .context = 200, .slabs = true};
  EXPECT_THAT(host_capacity(program(), both, kPlenty),
              FailsWith(DeviceErrc::kOutOfMemory,
                        "37 pages of 16 tokens are no slabs of 200 tokens for 5 rows"));
  const CapacityWishes rows{.rows = 5, .pages = 4, .slabs = true};
  EXPECT_THAT(host_capacity(program(), rows, kPlenty),
              FailsWith(DeviceErrc::kOutOfMemory, "are no slabs of"));
}

TEST_F(HostCapacityTest, NamesTheNumbersWhenTheWishesDoNotFit) {
  const DeviceLimits most = host_capacity(program(), {.rows = 64}, kPlenty).value();
  const CapacityWishes wishes{.memory_fraction = 1, .rows = 64, .pages = most.pages};
  const auto refused = host_capacity(program(), wishes, taken(most) / 2);
  EXPECT_THAT(refused, FailsWith(DeviceErrc::kOutOfMemory, "1024 pages of KV"));
  EXPECT_THAT(refused, FailsWith(DeviceErrc::kOutOfMemory, "MiB that may be taken"));
  EXPECT_THAT(host_capacity(program(), {}, 1),
              FailsWith(DeviceErrc::kOutOfMemory, "of 0 MiB that may be taken"));
}

TEST_F(HostCapacityTest, SmallerNumbersInTheCacheGiveMorePages) {
  CapacityWishes wishes{.memory_fraction = 1, .rows = 64};
  const std::int64_t free_bytes = taken(host_capacity(program(), wishes, kPlenty).value()) * 3 / 5;
  const DeviceLimits wide = host_capacity(program(), wishes, free_bytes).value();
  wishes.kv_dtype = DType::kBF16;
  const DeviceLimits narrow = host_capacity(program(), wishes, free_bytes).value();
  EXPECT_GT(narrow.pages, wide.pages);
}

TEST_F(HostCapacityTest, CodesInTheCacheGiveTwiceThePagesLessTheirScales) {
  const auto page_bytes = [&](DType dtype) {
    return HostDevice::page_bytes(program(), step_options(program(), {}, dtype, 1));
  };
  const KvLayerPlan& layer = program().self_kv.front();
  const std::int64_t scales = page_bytes(DType::kBF16) * 4 / (std::int64_t{2} * layer.head_size);
  for (const DType dtype : {DType::kI8, DType::kF8_E4M3}) {
    EXPECT_EQ(page_bytes(dtype), page_bytes(DType::kBF16) / 2 + scales);
  }
  CapacityWishes wishes{.memory_fraction = 1, .rows = 64};
  const std::int64_t free_bytes = taken(host_capacity(program(), wishes, kPlenty).value()) * 2 / 5;
  wishes.kv_dtype = DType::kBF16;
  const DeviceLimits halves = host_capacity(program(), wishes, free_bytes).value();
  wishes.kv_dtype = DType::kI8;
  const DeviceLimits codes = host_capacity(program(), wishes, free_bytes).value();
  const std::int64_t room = halves.pages * page_bytes(DType::kBF16);
  EXPECT_NEAR(static_cast<double>(codes.pages),
              static_cast<double>(room) / static_cast<double>(page_bytes(DType::kI8)), 1.5);
}

TEST(HostCapacity, AStepOfAnEncoderHoldsItsLongestInput) {
  const auto golden = GoldenModel::open(committed_golden("m2m100")).value();
  const Program& program = *golden.model.program;
  const CapacityWishes wishes{.rows = 3, .page_tokens = 4, .step_tokens = 1};
  const DeviceLimits limits = host_capacity(program, wishes, kPlenty).value();
  EXPECT_GE(limits.step_tokens, limits.context);
  EXPECT_EQ(limits.cross_pages, 3 * limits.pages_per_row());
}

TEST(HostCapacity, MorePagesThanCanBeNumberedDoNotFit) {
  const auto golden = GoldenModel::open(committed_golden("m2m100")).value();
  Program program = *golden.model.program;
  program.context = 1 << 16;
  const CapacityWishes wishes{.rows = 1 << 16, .page_tokens = 1};
  EXPECT_THAT(host_capacity(program, wishes, kPlenty),
              FailsWith(DeviceErrc::kOutOfMemory, "that may be taken"));
}

}  // namespace
}  // namespace weft::test
