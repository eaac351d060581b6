#include "weft/net/api/responses/response_store.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

constexpr const char* kOwner = "somebody";

StoredResponse response_of(std::string id, std::size_t text_bytes = 10) {
  StoredResponse response;
  response.id = std::move(id);
  response.owner = kOwner;
  response.object = "{}";
  response.conversation.push_back(
      boost::json::object{{"role", "user"}, {"content", std::string(text_bytes, 'x')}});
  response.conversation_bytes = conversation_bytes(response.conversation);
  return response;
}

constexpr std::size_t kPlenty = std::size_t{1} << 30;

TEST(ResponseStoreTest, GivesBackWhatWasPut) {
  ResponseStore store({.count = 4, .bytes = kPlenty});
  store.put(response_of("resp_1"));
  const auto found = store.find("resp_1", kOwner);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->id, "resp_1");
  EXPECT_EQ(found->object, "{}");
  EXPECT_EQ(found->conversation.at(0).at("content"), "xxxxxxxxxx");
  EXPECT_EQ(store.find("resp_2", kOwner), nullptr);
  EXPECT_EQ(store.count(), 1);
  EXPECT_EQ(store.bytes(), found->bytes);
}

TEST(ResponseStoreTest, DropsTheOneThatWasUsedLeastLatelyWhenThereAreTooMany) {
  ResponseStore store({.count = 2, .bytes = kPlenty});
  store.put(response_of("a"));
  store.put(response_of("b"));
  EXPECT_NE(store.find("a", kOwner), nullptr);
  store.put(response_of("c"));
  EXPECT_EQ(store.find("b", kOwner), nullptr);
  EXPECT_NE(store.find("a", kOwner), nullptr);
  EXPECT_NE(store.find("c", kOwner), nullptr);
  EXPECT_EQ(store.count(), 2);
}

TEST(ResponseStoreTest, DropsAsManyAsTheBytesOfANewOneNeed) {
  ResponseStore store({.count = 100, .bytes = 10'000});
  for (const char* id : {"a", "b", "c"}) store.put(response_of(id, 2'000));
  EXPECT_EQ(store.count(), 3);
  store.put(response_of("d", 7'000));
  EXPECT_EQ(store.find("a", kOwner), nullptr);
  EXPECT_EQ(store.find("b", kOwner), nullptr);
  EXPECT_NE(store.find("c", kOwner), nullptr);
  EXPECT_NE(store.find("d", kOwner), nullptr);
  EXPECT_LE(store.bytes(), 10'000);
}

TEST(ResponseStoreTest, CountsTheTextsOfAConversation) {
  ResponseStore store({.count = 4, .bytes = kPlenty});
  store.put(response_of("small", 0));
  const std::size_t before = store.bytes();
  EXPECT_GT(before, sizeof(StoredResponse));
  store.put(response_of("large", 100'000));
  EXPECT_GT(store.bytes(), before + 100'000);
  EXPECT_LT(store.bytes(), before + 110'000);
}

TEST(ResponseStoreTest, KeepsNothingThatIsLargerThanItsBound) {
  ResponseStore store({.count = 4, .bytes = 10'000});
  store.put(response_of("a"));
  store.put(response_of("b", 20'000));
  EXPECT_EQ(store.find("b", kOwner), nullptr);
  EXPECT_NE(store.find("a", kOwner), nullptr) << "and makes no room for it";
  ResponseStore none({.count = 0, .bytes = kPlenty});
  none.put(response_of("a"));
  EXPECT_EQ(none.count(), 0);
}

TEST(ResponseStoreTest, PutsOneWithTheSameIdInItsPlace) {
  ResponseStore store({.count = 4, .bytes = 10'000});
  store.put(response_of("a", 10));
  store.put(response_of("a", 1'000));
  EXPECT_EQ(store.count(), 1);
  EXPECT_EQ(store.bytes(), store.find("a", kOwner)->bytes);
  store.put(response_of("a", 20'000));
  EXPECT_EQ(store.find("a", kOwner), nullptr) << "the old one is not what it says any more";
  EXPECT_EQ(store.bytes(), 0);
}

TEST(ResponseStoreTest, LeavesFreeingLargeResponsesToAnotherThread) {
  std::vector<std::string> discarded;
  ResponseStore store({.count = 2, .bytes = 1'000'000},
                      [&](const auto& response) { discarded.push_back(response->id); });
  store.put(response_of("evicted", 100'000));
  store.put(response_of("small"));
  store.put(response_of("erased", 100'000));
  EXPECT_EQ(discarded, std::vector<std::string>{"evicted"});
  store.put(response_of("another"));
  EXPECT_TRUE(store.erase("erased", kOwner));
  store.put(response_of("too large", 2'000'000));
  EXPECT_EQ(discarded, (std::vector<std::string>{"evicted", "erased", "too large"}));
}

TEST(ResponseStoreTest, ErasesOnce) {
  ResponseStore store({.count = 4, .bytes = kPlenty});
  store.put(response_of("a"));
  EXPECT_TRUE(store.erase("a", kOwner));
  EXPECT_FALSE(store.erase("a", kOwner));
  EXPECT_EQ(store.count(), 0);
  EXPECT_EQ(store.bytes(), 0);
}

TEST(ResponseStoreTest, WhatWasFoundOutlivesItsPlaceInTheStore) {
  ResponseStore store({.count = 1, .bytes = kPlenty});
  store.put(response_of("a"));
  const auto found = store.find("a", kOwner);
  store.put(response_of("b"));
  EXPECT_EQ(store.find("a", kOwner), nullptr);
  EXPECT_EQ(found->id, "a");
}

TEST(ResponseStoreTest, FindsAndErasesForTheOwnerAlone) {
  ResponseStore store({.count = 2, .bytes = kPlenty});
  store.put(response_of("a"));
  store.put(response_of("b"));
  for (const char* other : {"", "some", "somebody else"}) {
    EXPECT_EQ(store.find("a", other), nullptr) << other;
    EXPECT_FALSE(store.erase("a", other)) << other;
  }
  store.put(response_of("c"));
  EXPECT_EQ(store.find("a", kOwner), nullptr) << "who looks in vain does not use it either";
  EXPECT_EQ(store.count(), 2);
}

TEST(ResponseStoreTest, ServesManyThreads) {
  ResponseStore store({.count = 16, .bytes = 20'000});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&store, thread] {
      for (int round = 0; round < 2'000; ++round) {
        const std::string id = std::to_string((round * 7 + thread) % 40);
        store.put(response_of(id, static_cast<std::size_t>(round % 50) * 20));
        if (const auto found = store.find(std::to_string(round % 40), kOwner)) {
          EXPECT_EQ(found->conversation.size(), 1);
        }
        if (round % 5 == 0) store.erase(id, kOwner);
        EXPECT_LE(store.count(), 16);
        EXPECT_LE(store.bytes(), 20'000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int id = 0; id < 40; ++id) store.erase(std::to_string(id), kOwner);
  EXPECT_EQ(store.count(), 0);
  EXPECT_EQ(store.bytes(), 0);
}

}  // namespace
}  // namespace weft
