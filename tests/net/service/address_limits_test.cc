#include "weft/net/service/address_limits.h"

#include <gtest/gtest.h>

#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "weft/core/metrics.h"
#include "weft/net/defaults.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::make_address;

constexpr AddressLimits::Time kNow{std::chrono::hours(1)};

class AddressLimitsTest : public testing::Test {
 public:
  static ServerConfig config(std::int32_t connections, std::int32_t requests) {
    ServerConfig config;
    config.max_connections_per_address = connections;
    config.max_requests_per_second_per_address = requests;
    return config;
  }
  MetricsRegistry metrics;
};

TEST_F(AddressLimitsTest, NothingIsLimitedUnlessItIsAskedFor) {
  EXPECT_FALSE(AddressLimits({}, metrics).any());
  EXPECT_TRUE(AddressLimits(config(1, 0), metrics).any());
  EXPECT_TRUE(AddressLimits(config(0, 1), metrics).any());
}

TEST_F(AddressLimitsTest, AnAddressHasItsConnectionsUntilTheyEnd) {
  AddressLimits limits(config(2, 0), metrics);
  const auto one = limits.enter(make_address("10.0.0.1"), kNow);
  auto two = limits.enter(make_address("10.0.0.1"), kNow);
  EXPECT_NE(two, nullptr);
  EXPECT_EQ(limits.enter(make_address("10.0.0.1"), kNow), nullptr);
  EXPECT_NE(limits.enter(make_address("10.0.0.2"), kNow), nullptr);
  two = nullptr;
  EXPECT_NE(limits.enter(make_address("10.0.0.1"), kNow), nullptr);
  EXPECT_EQ(limits.known(), 1U) << "those that have left are forgotten";
}

TEST_F(AddressLimitsTest, AnIpv6NetworkOf64BitsIsOneAddressAndAMappedOneIsIpv4) {
  AddressLimits limits(config(1, 0), metrics);
  const auto one = limits.enter(make_address("2001:db8:1:2::1"), kNow);
  EXPECT_EQ(limits.enter(make_address("2001:db8:1:2:3:4:5:6"), kNow), nullptr);
  EXPECT_NE(limits.enter(make_address("2001:db8:1:3::1"), kNow), nullptr);
  const auto four = limits.enter(make_address("10.0.0.1"), kNow);
  EXPECT_EQ(limits.enter(make_address("::ffff:10.0.0.1"), kNow), nullptr);
  EXPECT_NE(limits.enter(make_address("::ffff:10.0.0.2"), kNow), nullptr);
}

TEST_F(AddressLimitsTest, RequestsOfAllItsConnectionsCountAndComeBackWithTime) {
  AddressLimits limits(config(0, 2), metrics);
  const auto one = limits.enter(make_address("10.0.0.1"), kNow);
  const auto two = limits.enter(make_address("10.0.0.1"), kNow);
  EXPECT_FALSE(one->take_request(kNow));
  EXPECT_FALSE(two->take_request(kNow));
  const auto refused = one->take_request(kNow);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->retry_after, 500ms);
  EXPECT_TRUE(two->take_request(kNow + 499ms));
  EXPECT_FALSE(two->take_request(kNow + 500ms));
  EXPECT_TRUE(one->take_request(kNow + 500ms));
}

TEST_F(AddressLimitsTest, WhoComesBackAtOnceHasNoMoreThanBefore) {
  AddressLimits limits(config(0, 1), metrics);
  const auto now = AddressLimits::Time::clock::now();
  EXPECT_FALSE(limits.enter(make_address("10.0.0.1"), now)->take_request(now + 1h));
  EXPECT_EQ(limits.known(), 1U);
  EXPECT_TRUE(limits.enter(make_address("10.0.0.1"), now)->take_request(now + 1h));
}

TEST_F(AddressLimitsTest, ThereIsABoundOfAddressesThatHaveLeft) {
  AddressLimits limits(config(0, 1), metrics);
  const auto now = AddressLimits::Time::clock::now() + 1h;  // so that none is forgotten for its age
  for (std::uint32_t i = 0; i < net_defaults::kMaxLeftAddresses + 10; ++i) {
    const auto one = limits.enter(boost::asio::ip::address_v4(i + 1), now - 1h);
    static_cast<void>(one->take_request(now));
  }
  EXPECT_LE(limits.known(), net_defaults::kMaxLeftAddresses);
}

}  // namespace
}  // namespace weft::test
