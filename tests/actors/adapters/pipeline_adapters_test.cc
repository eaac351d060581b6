// Requests that name adapters, through the whole pipeline over a fake device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/adapters/adapter_messages.h"
#include "weft/actors/engine_error.h"
#include "weft/tests/actors/adapters/fake_adapters.h"
#include "weft/tests/actors/pipeline_fixture.h"
#include "weft/tests/fixture/result_matchers.h"

namespace weft::test {
namespace {

using testing::HasSubstr;

class PipelineAdaptersTest : public PipelineFixture {
 public:
  // The ids of a pipeline with adapters.
  static constexpr ActorId kAdapters{4}, kReader{5}, kWorker{6}, kReceiver{8};

  void SetUp() override {
    limits.adapter_places = 2;
    limits.adapter_rank = 16;
    files.folder.write("sql", "sql");
    files.folder.write("poet", "poet");
    files.folder.write("bad", "bad");
    adapters = std::make_shared<AdapterRegistry>(files.options());
    start();
  }

  static Request request_for(const std::string& adapter) {
    Request request = LetterFixture::request(9);
    request.adapter = adapter;
    return request;
  }
  /// Sends a request, up to where it waits for its adapter.
  Sent send_waiting(const std::string& adapter) {
    Sent sent = send(request_for(adapter));
    EXPECT_TRUE(play.expect<SubmitMsg>({}, kReceiver));
    EXPECT_TRUE(play.expect<PrepareMsg>({}, kWorker));
    EXPECT_TRUE(play.expect<PrepareMsg>(kWorker, kAdapters));
    return sent;
  }
  /// The tokens of a request with an adapter of this content; "": without one.
  static std::vector<TokenId> expected_of(const Sent& sent, const std::string& content) {
    Request request = sent.active->request();
    if (!content.empty()) *request.sampling.seed ^= fake_adapter(FakeAdapters::id_of(content));
    return LetterFixture::expected(request);
  }
  static void expect_done(const Sent& sent, const std::string& content) {
    ASSERT_TRUE(sent.sink->end);
    EXPECT_EQ(sent.sink->end->reason, FinishReason::kLength) << to_string(sent.sink->end->error);
    EXPECT_EQ(sent.sink->tokens.at(0), expected_of(sent, content)) << content;
  }
  static void expect_failed(const Sent& sent, EngineErrc code, const std::string& detail) {
    ASSERT_TRUE(sent.sink->end);
    EXPECT_EQ(sent.error(), code);
    EXPECT_THAT(sent.sink->end->error.detail, HasSubstr(detail));
  }
  /// Changes an adapter, and returns what became of it once all messages are delivered.
  Result<void> change(AdapterChange change) {
    std::optional<Result<void>> changed;
    pipeline->change_adapter(std::move(change), [&](const Result<void>& done) { changed = done; });
    play.run_all();
    EXPECT_TRUE(changed);
    return changed.value_or(Result<void>());
  }

  FakeAdapters files;
};

TEST_F(PipelineAdaptersTest, GivesEachRequestTheAdapterThatItNames) {
  const std::vector<std::string> names = {"sql", "", "poet", "sql", "", "poet"};
  std::vector<Sent> sent;
  for (const std::string& name : names) sent.push_back(send(request_for(name)));
  play.run_all();
  for (std::size_t i = 0; i < names.size(); ++i) expect_done(sent[i], names[i]);
  EXPECT_EQ(files.reads, 2);
  expect_nothing_held();
}

TEST_F(PipelineAdaptersTest, ServesOthersWhileAnAdapterIsRead) {
  const Sent waits = send(request_for("sql"));
  ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiver));
  ASSERT_TRUE(play.expect<PrepareMsg>({}, kWorker));  // it goes on to the actor that reads
  EXPECT_EQ(files.reads, 0);
  const Sent other = send(request_for(""));
  ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiver));
  ASSERT_TRUE(play.expect<PrepareMsg>({}, kWorker));
  ASSERT_TRUE(play.expect<EnqueueMsg>(kWorker, kSchedulerId));
  ASSERT_TRUE(play.expect<PrepareMsg>(kWorker, kAdapters));
  EXPECT_EQ(files.reads, 0);
  ASSERT_TRUE(play.expect<ReadAdapterMsg>(kAdapters, kReader));
  EXPECT_EQ(files.reads, 1);
  play.run_all();
  expect_done(waits, "sql");
  expect_done(other, "");
}

TEST_F(PipelineAdaptersTest, KeepsARequestsAdapterWhenItsNameGetsAnother) {
  ASSERT_TRUE(change(AdapterChange("mine", "sql")));
  const Sent before = send(request_for("mine"));
  ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiver));
  ASSERT_TRUE(play.expect<PrepareMsg>({}, kWorker));
  AdapterChange replaced("mine", "poet");
  replaced.replaces = true;
  ASSERT_TRUE(change(replaced));
  const Sent after = send(request_for("mine"));
  play.run_all();
  expect_done(before, "sql");
  expect_done(after, "poet");
  // The same prompt again finds pages of its own content alone.
  const Sent again = send(request_for("mine"));
  play.run_all();
  expect_done(again, "poet");
  EXPECT_GT(again.sink->end->usage.cached_tokens, 0);
}

TEST_F(PipelineAdaptersTest, KeepsARequestsAdapterWhenItsNameIsRemoved) {
  ASSERT_TRUE(change(AdapterChange("mine", "sql")));
  const Sent before = send(request_for("mine"));
  ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiver));
  ASSERT_TRUE(play.expect<PrepareMsg>({}, kWorker));
  AdapterChange removed("mine");
  removed.unloads = true;
  ASSERT_TRUE(change(removed));
  const Sent after = send(request_for("mine"));
  play.run_all();
  expect_done(before, "sql");
  expect_failed(after, EngineErrc::kNoSuchAdapter, "mine");
}

TEST_F(PipelineAdaptersTest, RefusesANameThatThereIsNotAndOneThatCannotBeRead) {
  const Sent unknown = send(request_for("nobody"));
  const Sent bad = send(request_for("bad"));
  const Sent good = send(request_for("poet"));
  play.run_all();
  expect_failed(unknown, EngineErrc::kNoSuchAdapter, "nobody");
  expect_failed(bad, EngineErrc::kAdapterFailed, "is bad");
  expect_done(good, "poet");
  expect_nothing_held();
}

TEST_F(PipelineAdaptersTest, EndsACancelledRequestInsteadOfReadingItsAdapter) {
  const Sent sent = send(request_for("sql"));
  ASSERT_TRUE(play.expect<SubmitMsg>({}, kReceiver));
  ASSERT_TRUE(play.expect<PrepareMsg>({}, kWorker));
  sent.active->ask_to_end(EndCause::kCancel);
  play.run_all();
  EXPECT_EQ(sent.error(), EngineErrc::kCancelled);
  EXPECT_EQ(files.reads, 0);
}

TEST_F(PipelineAdaptersTest, EndsARequestAtOnceWhileItsAdapterIsRead) {
  const Sent cancelled = send_waiting("sql");
  const Sent stays = send_waiting("sql");
  cancelled.active->ask_to_end(EndCause::kCancel);
  ASSERT_TRUE(play.expect<AdapterEndingMsg>({}, kAdapters));
  EXPECT_EQ(cancelled.error(), EngineErrc::kCancelled);
  EXPECT_EQ(files.reads, 0) << "the reader has not even begun";
  EXPECT_FALSE(stays.sink->end);
  play.run_all();
  expect_done(stays, "sql");
  EXPECT_EQ(files.reads, 1);
  expect_nothing_held();
}

TEST_F(PipelineAdaptersTest, KeepsAnAdapterWhoseRequestsHaveEndedMeanwhile) {
  const Sent sent = send_waiting("sql");
  ASSERT_TRUE(play.expect<ReadAdapterMsg>(kAdapters, kReader));
  sent.active->ask_to_end(EndCause::kCancel);
  play.run_all();
  EXPECT_EQ(sent.error(), EngineErrc::kCancelled);
  const Sent again = send(request_for("sql"));
  play.run_all();
  expect_done(again, "sql");
  EXPECT_EQ(files.reads, 1);
}

TEST_F(PipelineAdaptersTest, ReadsNoAdapterForWhichNoRequestWaitsAnyMore) {
  const Sent first = send_waiting("sql");
  const Sent second = send_waiting("poet");
  second.active->ask_to_end(EndCause::kCancel);
  play.run_all();
  expect_done(first, "sql");
  EXPECT_EQ(second.error(), EngineErrc::kCancelled);
  EXPECT_EQ(files.reads, 1);
  const Sent later = send(request_for("poet"));
  play.run_all();
  expect_done(later, "poet");
}

TEST_F(PipelineAdaptersTest, AStoppedRequestThatWaitsForItsAdapterHasAnEmptyOutput) {
  const Sent sent = send_waiting("sql");
  sent.active->ask_to_end(EndCause::kStop);
  ASSERT_TRUE(play.expect<AdapterEndingMsg>({}, kAdapters));
  play.run_all();
  ASSERT_TRUE(sent.sink->end);
  EXPECT_EQ(sent.sink->end->reason, FinishReason::kStop) << to_string(sent.sink->end->error);
  for (const auto& tokens : sent.sink->tokens) EXPECT_TRUE(tokens.empty());
  expect_nothing_held();
}

TEST_F(PipelineAdaptersTest, ARequestThatIsCancelledAfterItsWaitEndsInTheScheduler) {
  const Sent sent = send_waiting("sql");
  ASSERT_TRUE(play.expect<ReadAdapterMsg>(kAdapters, kReader));
  ASSERT_TRUE(play.expect<AdapterReadMsg>(kReader, kAdapters));
  ASSERT_TRUE(play.expect<PrepareMsg>({}, kWorker));
  ASSERT_TRUE(play.expect<EnqueueMsg>(kWorker, kSchedulerId));
  sent.active->ask_to_end(EndCause::kCancel);
  ASSERT_TRUE(play.expect<EndingMsg>({}, kSchedulerId));
  play.run_all();
  EXPECT_EQ(sent.error(), EngineErrc::kCancelled);
  expect_nothing_held();
}

TEST_F(PipelineAdaptersTest, AReaderThatThrowsCostsTheRequestsThatWaitForIt) {
  files.folder.write("thrower", "throw");
  const Sent thrown = send(request_for("thrower"));
  play.run_all();
  ASSERT_TRUE(thrown.sink->end);
  EXPECT_EQ(thrown.error(), EngineErrc::kInternal);
  const Sent good = send(request_for("poet"));
  play.run_all();
  expect_done(good, "poet");
}

TEST_F(PipelineAdaptersTest, RefusesARequestWhoseAdapterHasNoRoomInMemory) {
  pipeline.reset();
  AdapterRegistry::Options options = files.options();
  options.host_bytes = 10;
  adapters = std::make_shared<AdapterRegistry>(std::move(options));
  start();
  const auto held = adapters->prepare("poet");
  ASSERT_TRUE(held);
  const Sent sent = send(request_for("sql"));
  play.run_all();
  expect_failed(sent, EngineErrc::kOverloaded, "adapters.host_bytes");
  EXPECT_GT(sent.sink->end->retry_after.count(), 0);
}

TEST_F(PipelineAdaptersTest, RequestsThatWaitForAdaptersEndWithTheEngine) {
  const Sent sent = send_waiting("sql");
  pipeline.reset();
  EXPECT_EQ(sent.error(), EngineErrc::kStopping);
}

TEST_F(PipelineAdaptersTest, ServesMoreAdaptersThanThereArePlaces) {
  std::vector<Sent> sent;
  const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  for (const std::string& name : names) files.folder.write(name, name);
  for (int round = 0; round < 3; ++round) {
    for (const std::string& name : names) sent.push_back(send(request_for(name)));
  }
  play.run_all();
  for (std::size_t i = 0; i < sent.size(); ++i) expect_done(sent[i], names[i % names.size()]);
}

class PipelineWithoutAdaptersTest : public PipelineFixture {};

TEST_F(PipelineWithoutAdaptersTest, RefusesAdaptersOfAModelThatTakesNone) {
  start();
  Request request = LetterFixture::request();
  request.adapter = "sql";
  const Sent sent = send(std::move(request));
  play.run_all();
  ASSERT_TRUE(sent.sink->end);
  EXPECT_EQ(sent.error(), EngineErrc::kNoSuchAdapter);
  std::optional<Result<void>> changed;
  pipeline->change_adapter(AdapterChange("sql", "sql"),
                           [&](const Result<void>& done) { changed = done; });
  ASSERT_TRUE(changed);
  EXPECT_THAT(*changed, FailsWith(EngineErrc::kNoSuchAdapter, "adapters.places"));
}

}  // namespace
}  // namespace weft::test
