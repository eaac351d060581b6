#include "weft/core/error/internal_error.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

#ifdef WEFT_ABORT_ON_INTERNAL_ERROR

TEST(InternalErrorDeathTest, StopsATestWhereTheBugIs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(internal_error("rows overlap"),
               "internal error: rows overlap .*internal_error_test");
  EXPECT_DEATH(internal_error_noexcept("gate held"), "internal error: gate held");
}

#else

TEST(InternalError, IsThrownInProductionAndNamesThePlace) {
  try {
    internal_error("rows overlap");
    FAIL() << "nothing was thrown";
  } catch (const InternalError& bug) {
    const std::string text = bug.what();
    EXPECT_TRUE(text.starts_with("rows overlap (")) << text;
    EXPECT_NE(text.find("internal_error_test.cc:"), std::string::npos) << text;
  }
}

TEST(InternalError, DoesNothingInProductionWhereItMustNotThrow) {
  internal_error_noexcept("gate held");
}

#endif

}  // namespace
}  // namespace weft
