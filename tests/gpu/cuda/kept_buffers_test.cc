#include "weft/gpu/cuda/runtime/kept_buffers.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <set>
#include <vector>

#include "weft/gpu/cuda/runtime/runtime.h"

namespace weft::cuda {
namespace {

/// Takes bytes of an array, as long as there are any.
class KeptBuffersTest : public testing::Test {
 protected:
  std::array<std::byte, 4> memory_{};
  std::size_t taken_ = 0;
  KeptBuffers buffers_{[this](std::byte*& memory) {
    if (taken_ == memory_.size()) return kOutOfMemory;
    memory = &memory_.at(taken_++);
    return Status::kSuccess;
  }};
};

TEST_F(KeptBuffersTest, AreTakenAgainBeforeNewOnesAre) {
  for (int round = 0; round < 5; ++round) {
    std::set<std::byte*> all;
    for (int i = 0; i < 3; ++i) {
      std::byte* one = nullptr;
      ASSERT_EQ(buffers_.take(one), Status::kSuccess);
      EXPECT_TRUE(all.insert(one).second) << "somebody has it";
    }
    EXPECT_EQ(taken_, 3U) << "round " << round;
    for (std::byte* one : all) buffers_.give_back(one);
  }
}

TEST_F(KeptBuffersTest, WhatCannotBeTakenIsSaidAndLosesNone) {
  std::vector<std::byte*> all(memory_.size());
  for (std::byte*& one : all) ASSERT_EQ(buffers_.take(one), Status::kSuccess);
  std::byte* more = all.front();
  EXPECT_EQ(buffers_.take(more), kOutOfMemory);
  EXPECT_EQ(more, nullptr);
  buffers_.give_back(all.back());
  EXPECT_EQ(buffers_.take(more), Status::kSuccess);
  EXPECT_EQ(more, all.back());
}

}  // namespace
}  // namespace weft::cuda
