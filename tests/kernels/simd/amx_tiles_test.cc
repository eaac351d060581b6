#include "weft/kernels/simd/amx_tiles.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "weft/kernels/simd/cpu_features.h"

#if defined(__x86_64__) && defined(__linux__)

#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

namespace weft {
namespace {

/// Whether the calling thread has tiles that the system must save (XINUSE, bit 17: their shapes).
bool tiles_are_in_use() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low & (1U << 17U)) != 0;
}

AmxShapes all_of(std::uint8_t rows) {
  AmxShapes shapes;
  shapes.tiles.fill({rows, 64});
  return shapes;
}

class AmxTilesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!may_use_amx()) GTEST_SKIP() << "this processor or system has no AMX";
  }
};

TEST_F(AmxTilesTest, MakesTheBestTarget) {
  EXPECT_EQ(available_cpu_targets().back(), CpuTarget::kAvx512Amx);
}

TEST_F(AmxTilesTest, LeavesNothingInUse) {
  ASSERT_FALSE(tiles_are_in_use());
  {
    AmxTiles tiles;
    EXPECT_FALSE(tiles_are_in_use());
    tiles.shape(all_of(16));
    EXPECT_TRUE(tiles_are_in_use());
    tiles.shape(all_of(3));
    EXPECT_TRUE(tiles_are_in_use());
  }
  EXPECT_FALSE(tiles_are_in_use());
}

TEST_F(AmxTilesTest, NeedsNothingOfAThread) {
  bool before = true;
  bool within = false;
  std::thread([&] {
    before = tiles_are_in_use();
    AmxTiles tiles;
    tiles.shape(all_of(1));
    within = tiles_are_in_use();
  }).join();
  EXPECT_FALSE(before);
  EXPECT_TRUE(within);
  EXPECT_FALSE(tiles_are_in_use());
}

/// In a process that has not asked yet: a stack for signals that has no room for tiles.
[[noreturn]] void ask_with_a_small_signal_stack() {
  std::vector<char> memory(std::size_t{1} << 12U);
  stack_t small{};
  small.ss_sp = memory.data();
  small.ss_size = memory.size();
  if (sigaltstack(&small, nullptr) != 0) std::_Exit(2);
  std::_Exit(may_use_amx() || available_cpu_targets().back() == CpuTarget::kAvx512Amx ? 1 : 0);
}

TEST(AmxTilesDeathTest, AreNoTargetWhereTheSystemRefusesThem) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts the program anew
  EXPECT_EXIT(ask_with_a_small_signal_stack(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft

#endif
