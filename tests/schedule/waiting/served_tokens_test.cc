#include "weft/schedule/waiting/served_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <random>

#include "weft/tests/fixture/expect_bug.h"

namespace weft {
namespace {

constexpr ClientId kClara{1};
constexpr ClientId kDora{2};
constexpr ClientId kCora{3};

TEST(ServedTokens, WeighsAnOutputTokenAsTwoOfThePrompt) {
  ServedTokens served;
  served.arrive(kClara);
  served.charge_prompt(kClara, 100);
  served.charge_output(kClara, 10);
  EXPECT_EQ(served.counter(kClara), 120);
}

TEST(ServedTokens, WeighsAsItIsTold) {
  ServedTokens served(0.5, 3.25);
  served.arrive(kClara);
  served.charge_prompt(kClara, 3);
  served.charge_output(kClara, 1);
  EXPECT_EQ(served.counter(kClara), 4.75);
}

TEST(ServedTokens, LiftsANewcomerToTheLowestOfTheActiveClients) {
  ServedTokens served;
  served.arrive(kClara);
  served.arrive(kDora);
  served.charge_prompt(kClara, 50);
  served.charge_prompt(kDora, 30);
  served.arrive(kCora);
  EXPECT_EQ(served.counter(kCora), 30);
  EXPECT_EQ(served.counter(kClara), 50);
}

TEST(ServedTokens, OwesNothingForTheTimeAClientWasAway) {
  ServedTokens served;
  served.arrive(kClara);
  served.arrive(kDora);
  served.leave(kClara);
  served.charge_prompt(kDora, 1000);
  EXPECT_EQ(served.counter(kClara), 0);
  served.arrive(kClara);
  EXPECT_EQ(served.counter(kClara), 1000);
}

TEST(ServedTokens, ForgivesNothingToAClientThatComesBack) {
  ServedTokens served;
  served.arrive(kClara);
  served.arrive(kDora);
  served.charge_prompt(kClara, 1000);
  served.leave(kClara);
  served.arrive(kClara);
  EXPECT_EQ(served.counter(kClara), 1000);
  EXPECT_EQ(served.counter(kDora), 0);
}

TEST(ServedTokens, LiftsToTheOneWhoLeftLastWhereNobodyIsActive) {
  ServedTokens served;
  served.arrive(kClara);
  served.arrive(kDora);
  served.charge_prompt(kClara, 70);
  served.charge_prompt(kDora, 40);
  served.leave(kClara);
  served.leave(kDora);
  served.charge_output(kDora, 5);  // what still runs
  served.arrive(kCora);
  EXPECT_EQ(served.counter(kCora), 50);
}

TEST(ServedTokens, CountsRequestsSoThatOnlyTheFirstAndTheLastMatter) {
  ServedTokens served;
  served.arrive(kDora);
  served.arrive(kClara);
  served.arrive(kClara);
  served.charge_prompt(kDora, 10);
  served.leave(kClara);
  EXPECT_EQ(served.active(), 2U);
  served.arrive(kClara);
  EXPECT_EQ(served.counter(kClara), 0) << "it was never away";
  served.leave(kClara);
  served.leave(kClara);
  EXPECT_EQ(served.active(), 1U);
}

TEST(ServedTokens, SavesUpNoCreditForAClientWhoseRequestsAllRun) {
  ServedTokens served;
  served.arrive(kClara);
  served.leave(kClara);  // admitted at once, and runs
  served.arrive(kDora);
  for (int tick = 0; tick < 1000; ++tick) {
    served.charge_output(kClara, 1);
    served.charge_output(kDora, 100);
  }
  served.arrive(kCora);
  EXPECT_EQ(served.counter(kCora), 200000);
  served.arrive(kClara);
  EXPECT_EQ(served.counter(kClara), 200000);
}

TEST(ServedTokens, CountsAllAnonymousRequestsTogether) {
  ServedTokens served;
  served.arrive(ClientId());
  served.charge_prompt(ClientId(), 7);
  served.arrive(ClientId());
  EXPECT_EQ(served.counter(ClientId()), 7);
  EXPECT_EQ(served.clients(), 1U);
}

TEST(ServedTokens, TakesInAClientItDoesNotKnowAsANewcomer) {
  ServedTokens served;
  served.arrive(kClara);
  served.charge_prompt(kClara, 20);
  EXPECT_EQ(served.counter(kDora), 20);
  served.charge_prompt(kDora, 1);
  EXPECT_EQ(served.counter(kDora), 21);
}

TEST(ServedTokens, ForgetsWhoWasUsedLongestAgoAndForgivesWhatItHadBeyondOthers) {
  ServedTokens served(1, 2, 2);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    served.arrive(ClientId(id));
    served.charge_prompt(ClientId(id), 100);
  }
  for (std::uint64_t id = 1; id <= 2; ++id) served.leave(ClientId(id));
  served.charge_output(kClara, 1);  // still runs, and so was used after Bert
  served.leave(kCora);
  EXPECT_EQ(served.clients(), 2U);
  served.arrive(ClientId(4));  // the level of Cora, who left last
  const double newcomer = served.counter(ClientId(4));
  EXPECT_EQ(served.counter(kDora), newcomer) << "forgotten";
  EXPECT_EQ(served.counter(kClara), 102) << "remembered";
}

TEST(ServedTokens, KnowsTheLevelOfTheLastToLeaveAfterItIsForgotten) {
  ServedTokens served(1, 2, 0);
  served.arrive(kClara);
  served.charge_prompt(kClara, 33);
  served.leave(kClara);
  EXPECT_EQ(served.clients(), 0U);
  served.arrive(kDora);
  EXPECT_EQ(served.counter(kDora), 33);
}

TEST(ServedTokens, HoldsNoMoreClientsThanAreActiveAndRemembered) {
  ServedTokens served(1, 2, 10);
  for (std::uint64_t id = 0; id < 10000; ++id) {
    served.arrive(ClientId(id));
    served.charge_prompt(ClientId(id), 1);
    served.leave(ClientId(id));
    ASSERT_LE(served.clients(), 11U);
  }
}

TEST(ServedTokens, CountsEveryTokenAfterAHundredYears) {
  ServedTokens served;
  served.arrive(kClara);
  constexpr std::int64_t kHundredYears = 3'200'000'000;  // seconds
  served.charge_prompt(kClara, kHundredYears * 1'000'000);
  served.arrive(kDora);
  served.leave(kDora);
  served.charge_prompt(kDora, 1);
  EXPECT_EQ(served.counter(kDora) - served.counter(kClara), 1);
  for (int i = 0; i < 100; ++i)
    served.charge_prompt(kDora, std::numeric_limits<std::int64_t>::max());
  EXPECT_GT(served.counter(kDora), served.counter(kClara)) << "stays at the end of its range";
}

/// The paper's Algorithm 2 as it is written there: a map of counters, a scan for the least.
TEST(ServedTokens, CountsAsTheAlgorithmOfThePaper) {
  ServedTokens served(1, 2, 1000);
  std::map<ClientId, std::int64_t> counters;
  std::map<ClientId, int> waiting;
  ClientId last_left;
  std::mt19937 random(5);
  for (int event = 0; event < 50000; ++event) {
    const ClientId client(1 + random() % 30);
    const auto kind = random() % 4;
    if (kind == 0) {
      if (waiting[client]++ == 0) {
        std::int64_t level = std::numeric_limits<std::int64_t>::max();
        for (const auto& [other, requests] : waiting) {
          if (requests > 0 && other != client) level = std::min(level, counters[other]);
        }
        if (served.active() == 0) level = counters[last_left];
        counters[client] = std::max(counters[client], level);
      }
      served.arrive(client);
    } else if (kind == 1 && waiting[client] > 0) {
      if (--waiting[client] == 0) last_left = client;
      served.leave(client);
    } else if (counters.contains(client)) {
      const auto tokens = static_cast<std::int64_t>(random() % 100);
      counters[client] += kind == 2 ? tokens : 2 * tokens;
      kind == 2 ? served.charge_prompt(client, tokens) : served.charge_output(client, tokens);
    }
    if (counters.contains(client)) {
      ASSERT_EQ(served.counter(client), static_cast<double>(counters[client])) << event;
    }
  }
}

/// Theorem 4.4 of the paper: service to two clients that both always wait differs by at most 2 U,
/// U the most that is charged between two choices.
TEST(ServedTokens, KeepsTheServiceOfClientsThatWaitWithinTheBoundOfThePaper) {
  ServedTokens served;
  std::mt19937 random(9);
  std::array<double, 3> service{};
  const std::array clients = {kClara, kDora, kCora};
  for (const ClientId client : clients) served.arrive(client);
  for (int admission = 0; admission < 10000; ++admission) {
    std::size_t next = 0;
    for (std::size_t i = 1; i < clients.size(); ++i) {
      if (served.counter(clients.at(i)) < served.counter(clients.at(next))) next = i;
    }
    // Anna asks for long answers, Bert has long prompts, Cora is modest.
    const std::int64_t prompt = static_cast<std::int64_t>(random() % (next == 1 ? 1000 : 50));
    const std::int64_t output = static_cast<std::int64_t>(random() % (next == 0 ? 500 : 20));
    served.charge_prompt(clients.at(next), prompt);
    served.charge_output(clients.at(next), output);
    service.at(next) += static_cast<double>(prompt + 2 * output);
    ASSERT_LE(std::ranges::max(service) - std::ranges::min(service), 2 * 1050);
  }
}

TEST(ServedTokensDeathTest, KnowsMisuse) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ServedTokens served;
  WEFT_EXPECT_BUG(served.leave(kClara), "was away");
  WEFT_EXPECT_BUG(served.charge_output(kClara, -1), "less than nothing");
  WEFT_EXPECT_BUG(ServedTokens(-1, 2), "out of range");
  WEFT_EXPECT_BUG(ServedTokens(1, std::numeric_limits<double>::quiet_NaN()), "out of range");
  WEFT_EXPECT_BUG(ServedTokens(0, 0), "weigh nothing");
}

}  // namespace
}  // namespace weft
