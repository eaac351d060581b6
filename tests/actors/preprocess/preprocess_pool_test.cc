#include "weft/actors/preprocess/preprocess_pool.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/defaults.h"
#include "weft/core/actor/actor_system.h"

namespace weft {
namespace {

class SilentSink final : public RequestSink {
 public:
  void admit(std::int32_t /*count*/) noexcept override {}
  void deliver(const DeltaView& /*delta*/) noexcept override {}
  void finish(Finish&& /*finish*/) noexcept override {}
};

/// A worker that lets every request fall.
class DroppingWorker {
 public:
  using Accepts = PreprocessProtocol;
  explicit DroppingWorker(ActorContext& /*context*/) {}
  void on(PrepareMsg&& /*message*/) {}
  void undelivered(PrepareMsg&& message, const Error& why) { std::move(message.ticket).fail(why); }
};

using Counts = std::vector<std::size_t>;

Request text_of(std::int64_t bytes) {
  Request request;
  request.prompt.assign(static_cast<std::size_t>(bytes), 'a');
  return request;
}

Request conversation_of(std::int64_t messages, const std::string& text = "a") {
  Request request;
  for (std::int64_t i = 0; i < messages; ++i) {
    request.messages.push_back({{"role", "user"}, {"content", text}});
  }
  return request;
}

/// A pool whose workers do nothing until done() is called.
class PreprocessPoolTest : public testing::Test {
 protected:
  void start(std::size_t for_small, std::size_t for_large) {
    const auto spawn = [this](std::size_t count) {
      PreprocessPool::Workers workers;
      for (std::size_t i = 0; i < count; ++i) workers.push_back(system_.spawn<DroppingWorker>({}));
      return workers;
    };
    small_ = spawn(for_small);
    large_ = spawn(for_large);
    pool_ = std::make_unique<PreprocessPool>(small_, large_);
  }

  void send(Request request) {
    PrepareMsg message{RequestTicket(std::make_shared<ActiveRequest>(
        RequestId(++sent_), std::move(request), std::make_shared<SilentSink>(), TimePoint{}))};
    EXPECT_TRUE(taken(pool_->try_send(std::move(message))));
  }
  void send(std::int64_t bytes) { send(text_of(bytes)); }

  /// Lets every worker do what it has.
  void done() {
    context_.restart();
    context_.poll();
  }

  static Counts waiting(const PreprocessPool::Workers& workers) {
    Counts counts;
    for (const auto& worker : workers) counts.push_back(worker.size());
    return counts;
  }
  /// Returns whether the request went to the worker for large ones; of one worker each.
  bool is_large(Request request) {
    const std::size_t before = large_.front().size();
    send(std::move(request));
    return large_.front().size() > before;
  }

  boost::asio::io_context context_;
  ActorSystem system_{context_.get_executor()};
  PreprocessPool::Workers small_, large_;
  std::unique_ptr<PreprocessPool> pool_;
  std::uint64_t sent_ = 0;
};

TEST_F(PreprocessPoolTest, LargeRequestsHaveWorkersOfTheirOwn) {
  start(2, 2);
  for (int i = 0; i < 4; ++i) send(defaults::kLargePromptBytes);
  EXPECT_EQ(waiting(large_), (Counts{2, 2}));
  EXPECT_EQ(waiting(small_), (Counts{0, 0}));
  for (int i = 0; i < 8; ++i) send(defaults::kLargePromptBytes - 1);
  EXPECT_EQ(waiting(large_), (Counts{2, 2})) << "however many wait";
  EXPECT_EQ(waiting(small_), (Counts{4, 4}));
}

TEST_F(PreprocessPoolTest, AMessageGoesToTheWorkerWithTheFewestBytes) {
  start(2, 1);
  send(defaults::kLargePromptBytes - 1);
  for (int i = 0; i < 8; ++i) send(10);
  EXPECT_EQ(waiting(small_), (Counts{1, 8}));
}

TEST_F(PreprocessPoolTest, WhatAWorkerHasDoneIsNoLongerCounted) {
  start(2, 1);
  send(defaults::kLargePromptBytes - 1);
  done();
  EXPECT_EQ(waiting(small_), (Counts{0, 0}));
  send(100);
  send(10);  // the other has a hundred bytes
  EXPECT_EQ(waiting(small_), (Counts{1, 1}));
}

TEST_F(PreprocessPoolTest, ConversationsOfManyMessagesAreLarge) {
  start(1, 1);
  EXPECT_FALSE(is_large(conversation_of(defaults::kLargePromptMessages - 1)));
  EXPECT_TRUE(is_large(conversation_of(defaults::kLargePromptMessages)));
  EXPECT_TRUE(is_large(conversation_of(2, std::string(defaults::kLargePromptBytes / 2, 'a'))));
}

TEST_F(PreprocessPoolTest, ConversationsThatMayBeShortenedCountSeveralTimes) {
  start(1, 1);
  const auto may_be_shortened = [](Request request) {
    request.drop_oldest_messages = true;
    return request;
  };
  const std::int64_t messages = defaults::kLargePromptMessages / defaults::kShorteningRounds;
  EXPECT_FALSE(is_large(conversation_of(messages)));
  EXPECT_TRUE(is_large(may_be_shortened(conversation_of(messages))));
  EXPECT_FALSE(is_large(may_be_shortened(conversation_of(messages - 1))));
  const std::string text(defaults::kLargePromptBytes / defaults::kShorteningRounds, 'a');
  EXPECT_FALSE(is_large(conversation_of(1, text)));
  EXPECT_TRUE(is_large(may_be_shortened(conversation_of(1, text))));
}

TEST_F(PreprocessPoolTest, OneOfManyThatWereAskedForTogetherIsLarge) {
  start(1, 1);
  Request one = text_of(1);
  one.bulk = true;
  EXPECT_TRUE(is_large(std::move(one)));
}

TEST_F(PreprocessPoolTest, WhatElseIsReadCountsAsWell) {
  start(1, 1);
  const std::string text(defaults::kLargePromptBytes, 'a');
  Request schema = text_of(1);
  schema.structured_output = {.kind = StructuredOutput::Kind::kRegex, .text = text};
  EXPECT_TRUE(is_large(std::move(schema)));
  Request choices = text_of(1);
  choices.structured_output = {.kind = StructuredOutput::Kind::kChoice, .choices = {text}};
  EXPECT_TRUE(is_large(std::move(choices)));
  Request stops = text_of(1);
  stops.stop = {text};
  EXPECT_TRUE(is_large(std::move(stops)));
  for (const boost::json::value& empty : {boost::json::value(boost::json::array_kind),
                                          boost::json::value(boost::json::string_kind)}) {
    Request lists = text_of(1);
    lists.chat_template_kwargs["list"] = boost::json::array(defaults::kLargePromptBytes / 2, empty);
    EXPECT_TRUE(is_large(std::move(lists))) << "though no element has a byte";
  }
}

}  // namespace
}  // namespace weft
