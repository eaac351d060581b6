#include "weft/core/error/error.h"

#include <gtest/gtest.h>

#include <boost/system/system_error.hpp>
#include <set>
#include <string>

namespace weft {
namespace {

TEST(CoreErrc, EachHasANameAndAMessageOfItsOwn) {
  std::set<std::string_view> names;
  std::set<std::string_view> messages;
  for (const ErrorText& row : core_category().table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(messages.insert(row.message).second) << row.message;
    EXPECT_EQ(core_category().name_of(row.value), row.name);
    EXPECT_EQ(core_category().message(row.value), row.message);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(CoreErrc::kNotReady));
}

TEST(CoreErrc, ConvertsToAnErrorCodeOfWeftsCategory) {
  const boost::system::error_code code = CoreErrc::kMailboxFull;
  EXPECT_EQ(code, CoreErrc::kMailboxFull);
  EXPECT_NE(code, CoreErrc::kMailboxClosed);
  EXPECT_STREQ(code.category().name(), "weft.core");
  EXPECT_TRUE(code.failed());
}

TEST(TableCategory, SaysThatANumberItDoesNotKnowIsUnknown) {
  EXPECT_EQ(core_category().name_of(999), "unknown_error");
  EXPECT_EQ(core_category().message(999), "unknown error 999");
}

TEST(Error, ReadsWithItsDetailFirst) {
  EXPECT_EQ(to_string(Error{CoreErrc::kStopped, "scheduler"}),
            "scheduler: the system stopped before the message was handled");
  EXPECT_EQ(to_string(Error{CoreErrc::kMailboxFull, ""}), "the receiver's mailbox is full");
}

TEST(Error, SaysInWhichFileItIsOnce) {
  const Error error = error_in("a.json", {CoreErrc::kStopped, "line 3"});
  EXPECT_EQ(error.detail, "a.json: line 3");
  EXPECT_EQ(error_in("a.json", error).detail, "a.json: line 3");
  EXPECT_EQ(error_in("a.json", {CoreErrc::kStopped, ""}).detail, "a.json");
}

TEST(Result, ThrowsItsErrorWhenAskedForAValueItDoesNotHave) {
  const Result<int> none = Error{CoreErrc::kActorFailed, "detokenizer"};
  try {
    (void)none.value();
    FAIL() << "nothing was thrown";
  } catch (const boost::system::system_error& thrown) {
    EXPECT_EQ(thrown.code(), CoreErrc::kActorFailed);
    EXPECT_NE(std::string(thrown.what()).find("detokenizer"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft
