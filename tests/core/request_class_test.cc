#include "weft/core/request_class.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace weft {
namespace {

TEST(RequestClass, StandsAtItsNumberWithTheMostUrgentFirst) {
  ASSERT_EQ(kRequestClasses.size(), 2U);
  for (std::size_t i = 0; i < kRequestClasses.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kRequestClasses[i]), i);
  }
  EXPECT_EQ(kRequestClasses.front(), RequestClass::kChat);
}

TEST(RequestClass, ReadsAsItIsConfigured) {
  EXPECT_EQ(to_string(RequestClass::kChat), "chat");
  EXPECT_EQ(to_string(RequestClass::kBatch), "batch");
}

}  // namespace
}  // namespace weft
