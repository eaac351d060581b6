#include "weft/cli/retry.h"

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using enum Retry::Cause;

TEST(Retry, PausesTwiceAsLongEachTimeUpToABound) {
  Retry retry(milliseconds(4'000));
  EXPECT_EQ(retry.after(kRefused), seconds(4));
  EXPECT_EQ(retry.after(kFailed), seconds(8));
  EXPECT_EQ(retry.after(kRefused), seconds(15));
  EXPECT_EQ(retry.after(kRefused), seconds(15));
}

TEST(Retry, WaitsAtLeastAsLongAsTheServerSays) {
  Retry retry;
  EXPECT_EQ(retry.after(kRefused, seconds(100)), seconds(100));
  EXPECT_EQ(retry.after(kRefused), 2 * Retry::kFirstPause);
}

TEST(Retry, CountsFailuresAndNoRefusals) {
  Retry retry;
  for (int i = 1; i < Retry::kTries; ++i) {
    EXPECT_TRUE(retry.after(kFailed));
    EXPECT_TRUE(retry.after(kRefused));
  }
  EXPECT_FALSE(retry.after(kFailed));
}

}  // namespace
}  // namespace weft::cli
