#include "weft/core/io/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/core/io/file.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft {
namespace {

using test::FailsWith;

// In every process already.
constexpr const char* kMathLibrary = "libm.so.6";

TEST(SharedLibraryTest, GivesTheFunctionsOfALibrary) {
  const auto library = SharedLibrary::open({kMathLibrary});
  ASSERT_TRUE(library) << to_string(library.error());
  double (*found)(double) = nullptr;
  ASSERT_TRUE(library->find("fabs", found));
  EXPECT_EQ(found(-3.0), 3.0);
}

TEST(SharedLibraryTest, TakesTheFirstThatIsThere) {
  EXPECT_TRUE(SharedLibrary::open({"libweft_is_not_there.so.1", kMathLibrary}));
}

TEST(SharedLibraryTest, SaysWhichLibraryIsMissing) {
  EXPECT_THAT(SharedLibrary::open({"libweft_is_not_there.so.1", "/nor_this.so"}),
              FailsWith(FileErrc::kCannotRead,
                        "libweft_is_not_there.so.1: cannot open shared object file"));
}

TEST(SharedLibraryTest, SaysWhichFunctionIsMissing) {
  const auto library = SharedLibrary::open({kMathLibrary});
  ASSERT_TRUE(library);
  void (*found)() = nullptr;
  EXPECT_THAT(library->find("weft_has_no_such", found),
              FailsWith(FileErrc::kCannotRead, "libm.so.6: undefined symbol: weft_has_no_such"));
  EXPECT_EQ(found, nullptr);
}

}  // namespace
}  // namespace weft
