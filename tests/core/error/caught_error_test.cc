#include "weft/core/error/caught_error.h"

#include <gtest/gtest.h>

#include <boost/system/system_error.hpp>
#include <exception>
#include <stdexcept>
#include <string>

namespace weft {
namespace {

template <class Throw>
std::string caught(Throw&& what) {
  try {
    what();
  } catch (const std::exception& failure) {
    const Error error = caught_error(failure, CoreErrc::kActorFailed);
    return std::string(core_category().name_of(error.code.value())) + "|" + error.detail;
  }
  return "nothing";
}

TEST(CaughtErrorTest, OfAResultIsTheErrorThatItHad) {
  EXPECT_EQ(caught([] {
              const Result<int> none = Error{CoreErrc::kStopped, "scheduler: gone"};
              static_cast<void>(none.value());
            }),
            "stopped|scheduler: gone");
  EXPECT_EQ(caught([] {
              const Result<int> none = Error{CoreErrc::kStopped, {}};
              static_cast<void>(none.value());
            }),
            "stopped|");
}

TEST(CaughtErrorTest, OfASystemErrorKeepsTheCode) {
  EXPECT_EQ(caught([] { throw boost::system::system_error(CoreErrc::kNotReady, "why"); }),
            "not_ready|why");
}

TEST(CaughtErrorTest, OfAnyOtherIsTheGivenCodeAndWhatItSays) {
  EXPECT_EQ(caught([] { throw std::runtime_error("why"); }), "actor_failed|why");
}

}  // namespace
}  // namespace weft
