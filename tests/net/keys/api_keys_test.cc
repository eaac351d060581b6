#include "weft/net/keys/api_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "weft/config/config_error.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

const KeyHolder::Time start{std::chrono::hours(1)};

/// Returns how long a request that is refused is told to wait; 0 when it may begin.
milliseconds wait_of(KeyHolder& holder, KeyHolder::Time now) {
  const ApiResult<void> done = holder.begin(now);
  if (done) return 0ms;
  EXPECT_EQ(done.error().status, 429);
  EXPECT_EQ(done.error().code, "rate_limit_exceeded");
  return done.error().retry_after;
}

TEST(KeyHolderTest, RunsAnyNumberOfRequestsAndTokensWithoutLimits) {
  KeyHolder holder("a", {});
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_EQ(wait_of(holder, start), 0ms);
    holder.charge(1'000'000, start);
  }
}

TEST(KeyHolderTest, RunsNoMoreRequestsAtOnceThanItMay) {
  KeyHolder holder("a", {.max_concurrent = 2});
  EXPECT_EQ(wait_of(holder, start), 0ms);
  EXPECT_EQ(wait_of(holder, start), 0ms);
  EXPECT_EQ(wait_of(holder, start), 1'000ms);
  EXPECT_EQ(wait_of(holder, start), 1'000ms);
  holder.end();  // the refused request is not among the running ones
  EXPECT_EQ(wait_of(holder, start), 0ms);
  EXPECT_EQ(wait_of(holder, start), 1'000ms);
}

TEST(KeyHolderTest, WaitsUntilAnOverdrawnAllowanceIsPaidBack) {
  KeyHolder holder("a", {.tokens_per_minute = 60});
  EXPECT_EQ(wait_of(holder, start), 0ms);
  holder.charge(59, start);
  EXPECT_EQ(wait_of(holder, start), 0ms);  // one is left, and that is enough to begin
  holder.charge(31, start);
  EXPECT_EQ(wait_of(holder, start), 31'000ms);  // 30 to pay back, and one to begin with
  EXPECT_EQ(wait_of(holder, start + 20s), 11'000ms);
  EXPECT_EQ(wait_of(holder, start + 31s), 0ms);
}

TEST(KeyHolderTest, SavesNoMoreThanTheTokensOfAMinute) {
  KeyHolder holder("a", {.tokens_per_minute = 60});
  EXPECT_EQ(wait_of(holder, start), 0ms);
  holder.charge(60, start + 1h);
  EXPECT_EQ(wait_of(holder, start + 1h), 1'000ms);
}

TEST(KeyHolderTest, CountsNoRequestThatItsTokensRefuse) {
  KeyHolder holder("a", {.max_concurrent = 1, .tokens_per_minute = 60});
  holder.charge(60, start);
  EXPECT_GT(wait_of(holder, start), 0ms);
  EXPECT_EQ(wait_of(holder, start + 1s), 0ms);
}

TEST(KeyHolderTest, SaysWhetherARequestCouldBeginAndCountsNone) {
  KeyHolder holder("a", {.max_concurrent = 1, .tokens_per_minute = 60});
  EXPECT_TRUE(holder.check(start));
  EXPECT_EQ(wait_of(holder, start), 0ms) << "it has counted none";
  EXPECT_EQ(holder.check(start).error().retry_after, 1'000ms);
  holder.end();
  holder.charge(60, start);
  EXPECT_EQ(holder.check(start).error().status, 429);
  EXPECT_TRUE(holder.check(start + 1s));
}

TEST(KeyLeaseTest, EndsItsRequestOnce) {
  const auto holder = std::make_shared<KeyHolder>("a", KeyLimits{.max_concurrent = 1});
  ASSERT_EQ(wait_of(*holder, start), 0ms);
  {
    KeyLease lease(holder);
    KeyLease moved(std::move(lease));
    KeyLease assigned;
    assigned = std::move(moved);
    EXPECT_GT(wait_of(*holder, start), 0ms);
  }
  EXPECT_EQ(wait_of(*holder, start), 0ms);
  EXPECT_GT(wait_of(*holder, start), 0ms);
}

TEST(KeyLeaseTest, EndsTheRequestThatAnotherIsAssignedOver) {
  const auto holder = std::make_shared<KeyHolder>("a", KeyLimits{.max_concurrent = 1});
  ASSERT_EQ(wait_of(*holder, start), 0ms);
  KeyLease lease(holder);
  lease = KeyLease();
  EXPECT_EQ(wait_of(*holder, start), 0ms);
}

TEST(ApiKeysTest, LetsAnyoneInWithoutKeys) {
  EXPECT_FALSE(ApiKeys().required());
  EXPECT_FALSE(ApiKeys::load("", "").value().required());
  EXPECT_EQ(ApiKeys().find("anything"), nullptr);
}

TEST(ApiKeysTest, FindsTheOneKeyAndNothingElse) {
  const ApiKeys keys = ApiKeys::load("sesame", "").value();
  EXPECT_TRUE(keys.required());
  ASSERT_NE(keys.find("sesame"), nullptr);
  EXPECT_EQ(keys.find("sesame"), keys.find("sesame"));
  EXPECT_EQ(keys.find("sesame")->limits().max_concurrent, 0);
  for (const char* key : {"", "sesam", "sesame ", "Sesame", "sesamee"}) {
    EXPECT_EQ(keys.find(key), nullptr) << key;
  }
}

TEST(ApiKeysTest, FindsTheKeysOfAFileByThemselvesAndByTheirHashes) {
  const test::TempFolder folder;
  const std::string file =
      folder
          .write("keys.toml",
                 "[[key]]\nname = 'one'\nkey = 'first'\nmax_concurrent = 3\n[[key]]\n"
                 "name = 'two'\n"  // hash of "abc": FIPS 180-2, appendix B.1
                 "sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'")
          .string();
  const ApiKeys keys = ApiKeys::load("sesame", file).value();
  EXPECT_EQ(keys.find("first")->name(), "one");
  EXPECT_EQ(keys.find("first")->limits().max_concurrent, 3);
  EXPECT_EQ(keys.find("abc")->name(), "two");
  EXPECT_NE(keys.find("sesame"), nullptr);
  EXPECT_EQ(keys.find("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), nullptr);
}

TEST(ApiKeysTest, SaysWhatIsWrongWithTheFile) {
  const test::TempFolder folder;
  const auto file = folder.write("keys.toml", "");
  const auto keys = ApiKeys::load("sesame", file.string());
  EXPECT_THAT(keys, test::FailsWith(ConfigErrc::kBadConfig, file.string()));
}

TEST(ApiKeysTest, NoKeyOfAFileHasTheNameOfTheOneWithout) {
  const test::TempFolder folder;
  const std::string file = folder.write("keys.toml", "[[key]]\nname = 'key'\nkey = 'x'").string();
  EXPECT_TRUE(ApiKeys::load("", file));
  EXPECT_THAT(ApiKeys::load("sesame", file), test::FailsWith(ConfigErrc::kBadConfig, file));
}

}  // namespace
}  // namespace weft
