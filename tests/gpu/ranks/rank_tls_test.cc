// Processes of one model that encrypt what they say, played by threads over the loopback.

#include "weft/gpu/ranks/world/rank_tls.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/actor/supervision.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/ranks/world/handshake.h"
#include "weft/gpu/ranks/world/rank_host.h"
#include "weft/tests/fixture/certificate.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/gpu/device_kinds.h"
#include "weft/tests/gpu/plan_builder.h"
#include "weft/tests/gpu/ranks/rank_processes.h"

namespace weft {
namespace {

using test::FailsWith;
using test::free_address;
using test::kWorldLimits;
using test::PlanBuilder;
using test::world_of;
using namespace std::chrono_literals;

class RankTlsTest : public test::RankWorldTest {
 protected:
  /// Files of a new certificate.
  [[nodiscard]] RankTlsFiles files(const std::string& name = "ranks") const {
    const std::string base = (folder_.path() / name).string();
    test::write_certificate(base + ".pem", base + ".key", "ranks");
    return {base + ".pem", base + ".key", ""};
  }

  [[nodiscard]] static RankWorld world_with(std::int32_t rank, const RankTlsFiles& files) {
    RankWorld world = world_of(rank, 2);
    world.tls = files;
    return world;
  }

  /// The errors on both sides when a rank with its own files connects to a head.
  struct Refused {
    Result<void> rank;
    Error head;
  };
  [[nodiscard]] static Refused meet(const RankTlsFiles& of_rank, const RankWorld& head) {
    const auto listener = RankListener::open("127.0.0.1:0").value();
    auto greeted = std::async(std::launch::async, [&] {
      const auto tls = RankTls::load(head.tls).value();
      RankSocket socket(listener.accept(10'000).value().value());
      return greet_rank(socket, head, tls.get());
    });
    RankWorld own = world_with(1, of_rank);
    own.address = listener.address();
    // It is sent away before it is asked anything.
    const OpenedModel none;
    WorldRank unasked(none, own);
    auto rank = run_rank(own, unasked);
    return {std::move(rank), greeted.get().error()};
  }

 private:
  const test::TempFolder folder_;
};

TEST_F(RankTlsTest, RunsPlansOverAnEncryptedConnection) {
  start("cpu,cpu", world_with(0, files()));
  const auto alone = test::host_kind().load_steps(model_.checkpoint, model_.program, kWorldLimits);
  PlanBuilder builder;
  builder.start(0, test::greedy(), 3).table(0, 0, {0, 1, 2, 3}).feed(0, 0, {1, 2, 3}).sample();
  for (std::int32_t at = 3; at < 8; ++at) {
    StepResult wanted;
    alone->run(builder.plan(), wanted);
    EXPECT_EQ(run(builder.plan()), wanted.samples.front().token);
    builder.plan().clear();
    builder.feed_last(0, at).sample();
  }
  devices_.clear();
  EXPECT_TRUE(workers_.front().get()) << "the head has said goodbye";
}

TEST_F(RankTlsTest, IsLostWhenAnEncryptedConnectionEnds) {
  start("cpu,cpu", world_with(0, files()));
  std::promise<void> told;
  remote().watch([&](const std::string& /*why*/) { told.set_value(); });
  remote().abandon();
  told.get_future().wait();
  StepResult result;
  PlanBuilder builder;
  builder.start(0, test::greedy(), 1).table(0, 0, {0}).feed(0, 0, {1}).sample();
  EXPECT_THROW(local().run(builder.plan(), result), ActorFailure);
  EXPECT_THAT(workers_.front().get(), FailsWith(DeviceErrc::kRankLost, "the head: "));
}

TEST_F(RankTlsTest, CountsAnEncryptedProcessThatIsSilentAsLost) {
  RankWorld world = world_with(0, files());
  world.address = free_address();
  world.timeout = 500ms;
  std::jthread silent([&](const std::stop_token& stop) {
    const auto tls = RankTls::load(world.tls).value();
    RankSocket socket(RankSocket::connect(world.address, 10'000).value());
    greet_head(socket, world_of(1, 2), tls.get()).value();
    socket.send(RankMessage::kReady).value();
    std::promise<void> over;
    const std::stop_callback end(stop, [&over] { over.set_value(); });
    over.get_future().wait();
  });
  const auto host = RankHost::gather(world).value();
  std::promise<void> lost;
  host->watch_over([&] { lost.set_value(); });
  ASSERT_TRUE(host->wait_until_ready());
  EXPECT_EQ(lost.get_future().wait_for(30s), std::future_status::ready);
}

TEST_F(RankTlsTest, SendsAwayWhoseCertificateNobodyKnows) {
  const auto [rank, head] = meet(files("other"), world_with(0, files()));
  EXPECT_THAT(rank, FailsWith(DeviceErrc::kRankLost, "the head: TLS: the other's certificate: "));
  EXPECT_NE(head.detail.find("TLS: "), std::string::npos) << head.detail;
}

TEST_F(RankTlsTest, ARankThatTrustsTheHeadHearsThatItIsNotTrusted) {
  const RankTlsFiles of_head = files();
  RankTlsFiles own = files("other");
  own.authority = of_head.certificate;
  const auto [rank, head] = meet(own, world_with(0, of_head));
  EXPECT_THAT(rank, FailsWith(DeviceErrc::kRankLost, "the head: TLS: "));
  EXPECT_NE(head.detail.find("TLS: the other's certificate: "), std::string::npos) << head.detail;
}

TEST_F(RankTlsTest, SendsAwayWhoSpeaksNoTls) {
  const auto [rank, head] = meet({}, world_with(0, files()));
  EXPECT_THAT(rank, FailsWith(DeviceErrc::kRankLost,
                              "it speaks TLS: device.rank_tls_certificate is set there"));
  EXPECT_NE(head.detail.find("it speaks no TLS"), std::string::npos) << head.detail;
}

TEST_F(RankTlsTest, TheHeadTellsWhyItStillWaits) {
  RankWorld world = world_with(0, files());
  world.address = free_address();
  world.gathering = 1s;
  auto gathered = std::async(std::launch::async, [&] { return RankHost::gather(world); });
  RankSocket stranger(RankSocket::connect(world.address, 10'000).value());
  ASSERT_TRUE(stranger.send(RankMessage::kHello, std::vector<std::byte>(100)));
  EXPECT_THAT(gathered.get(),
              FailsWith(DeviceErrc::kRankLost,
                        "1 of the other ranks: nobody has connected for too long; one was sent "
                        "away: it speaks no TLS"));
}

TEST_F(RankTlsTest, AHeadWithoutTlsSaysWhatIsMissing) {
  const auto [rank, head] = meet(files(), world_with(0, {}));
  EXPECT_THAT(rank, FailsWith(DeviceErrc::kRankLost, "is device.rank_tls_certificate set there?"));
  EXPECT_NE(head.detail.find("it speaks TLS"), std::string::npos) << head.detail;
}

TEST_F(RankTlsTest, AnAnswerIsWorthNothingOnAnotherConnection) {
  // One in between that has a certificate of the ranks', and not the key, hands everything on.
  const RankWorld world = world_with(0, files());
  const auto tls = RankTls::load(world.tls).value();
  const auto listener = RankListener::open("127.0.0.1:0").value();
  const auto catcher = RankListener::open("127.0.0.1:0").value();
  auto head = std::async(std::launch::async, [&] {
    RankSocket socket(listener.accept(10'000).value().value());
    return greet_rank(socket, world, tls.get());
  });
  std::jthread middle([&] {
    RankSocket rank(catcher.accept(10'000).value().value());
    rank.encrypt(*tls, true, 10'000).value();
    RankSocket to_head(RankSocket::connect(listener.address(), 10'000).value());
    to_head.encrypt(*tls, false, 10'000).value();
    const auto hand_on = [](RankSocket& from, RankSocket& to) {
      const auto frame = from.receive(10'000);
      return frame && to.send(frame->kind, frame->payload);
    };
    if (hand_on(rank, to_head) && hand_on(to_head, rank)) hand_on(rank, to_head);
  });
  RankSocket rank(RankSocket::connect(catcher.address(), 10'000).value());
  EXPECT_THAT(greet_head(rank, world_with(1, world.tls), tls.get()),
              FailsWith(DeviceErrc::kRankLost, "it has another key"));
  rank.shut_down();
  EXPECT_FALSE(head.get());
}

TEST_F(RankTlsTest, RefusesFilesThatAreNone) {
  const RankTlsFiles good = files();
  EXPECT_THAT(RankTls::load({"/nowhere.pem", good.key, ""}),
              FailsWith(DeviceErrc::kUnfit, "rank TLS: /nowhere.pem: "));
  EXPECT_THAT(RankTls::load({good.certificate, good.certificate, ""}),
              FailsWith(DeviceErrc::kUnfit, "rank TLS: " + good.certificate));
  EXPECT_THAT(RankTls::load({good.certificate, files("other").key, ""}),
              FailsWith(DeviceErrc::kUnfit, "other.key"));
  EXPECT_EQ(RankTls::load({}).value(), nullptr);
}

}  // namespace
}  // namespace weft
