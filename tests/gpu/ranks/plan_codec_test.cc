#include "weft/gpu/ranks/world/plan_codec.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "weft/gpu/device_error.h"
#include "weft/gpu/ranks/world/rank_setup.h"
#include "weft/tests/fixture/result_matchers.h"
#include "weft/tests/gpu/plan_builder.h"

namespace weft {
namespace {

using test::FailsWith;
using test::PlanBuilder;

constexpr DeviceLimits kCodecLimits{.rows = 4,
                                    .pages = 8,
                                    .page_tokens = 4,
                                    .kv_on_host = true,
                                    .rounds_rows = true,
                                    .step_tokens = 16,
                                    .context = 32,
                                    .cross_pages = 6,
                                    .vocabulary = 100};

class Reader final : public ActivationReader {
 public:
  [[nodiscard]] bool wants_logits() const noexcept override { return true; }
  [[nodiscard]] std::int32_t end_position() const noexcept override { return 5; }
  [[nodiscard]] std::int32_t first_position() const noexcept override { return 4; }
  void read(const TokenActivations& /*token*/) override {}
};

/// A plan that uses every list.
Plan full_plan() {
  PlanBuilder builder;
  builder.start(1, test::greedy(), 3, {7, 8}).table(1, 0, {0, 1}).encode(2, {1, 2, 3}, {4});
  builder.feed(1, 0, {5, 6, 7}).sample().feed_last(2, 9).sample();
  Plan plan = builder.plan();
  plan.tick = 12;
  plan.first_row = 1;
  plan.rows = 2;
  plan.moves = {{3, 2}};
  plan.slab_copies = {{1, 2}};
  plan.copies = {{2, 3}};
  plan.forks.push_back({.from = 1, .to = 2, .copied_pages = 1});
  plan.starts.front().reader = std::make_shared<Reader>();
  plan.starts.front().traits = {.kv = {AngleSet::kLong}, .second_text = 3};
  plan.starts.front().may_guess = false;
  return plan;
}

std::vector<std::byte> encoded(const Plan& plan) {
  std::vector<std::byte> bytes;
  encode_plan(plan, bytes);
  return bytes;
}

TEST(PlanCodec, BringsAcrossAllThatARankNeeds) {
  const Plan sent = full_plan();
  Plan got;
  ASSERT_TRUE(decode_plan(encoded(sent), kCodecLimits, got));
  EXPECT_EQ(got.tick, 12U);
  EXPECT_EQ(got.rows, 2);
  EXPECT_EQ(got.moves, sent.moves);
  EXPECT_EQ(got.ids, sent.ids);
  EXPECT_EQ(got.pages, sent.pages);
  ASSERT_EQ(got.starts.size(), 1U);
  EXPECT_EQ(got.starts[0].history_tokens, 2);
  EXPECT_EQ(got.starts[0].traits, sent.starts[0].traits);
  ASSERT_TRUE(got.starts[0].reader);
  EXPECT_TRUE(got.starts[0].reader->wants_logits());
  EXPECT_EQ(got.starts[0].reader->first_position(), 4);
  EXPECT_EQ(got.starts[0].reader->end_position(), 5);
  EXPECT_EQ(got.starts[0].needs, LogitNeeds::kCandidatesAndSum) << "of greedy() with logprobs";
  EXPECT_FALSE(got.starts[0].may_guess);
  EXPECT_EQ(got.starts[0].sampling, nullptr) << "which only the rank that chooses needs";
  EXPECT_EQ(encoded(got), encoded(sent)) << "and everything else";
}

TEST(PlanCodec, BringsAcrossGuessesOfADeviceThatMakesSome) {
  DeviceLimits limits = kCodecLimits;
  limits.guesses = 2;
  Plan sent = full_plan();
  sent.entries.back().count = 1 + 2;
  sent.entries.back().guesses = 2;
  sent.entries.back().unsure = 2;
  Plan got;
  ASSERT_TRUE(decode_plan(encoded(sent), limits, got));
  EXPECT_EQ(got.entries.back().guesses, 2);
  EXPECT_EQ(got.entries.back().unsure, 2);
  sent.entries.back().unsure = 3;
  sent.entries.back().start = 10;
  EXPECT_FALSE(decode_plan(encoded(sent), limits, got)) << "more than one plan guesses of a row";
  sent.entries.back().unsure = 2;
  EXPECT_TRUE(decode_plan(encoded(sent), limits, got));
  limits.guesses = 1;
  EXPECT_FALSE(decode_plan(encoded(sent), limits, got));
}

TEST(PlanCodec, RefusesAnAdapterSinceThatIsInTheProcessOfThePlanAlone) {
  Plan plan = full_plan();
  plan.starts.front().traits.kv.adapter.bytes[15] = std::byte{1};
  Plan got;
  EXPECT_THAT(decode_plan(encoded(plan), kCodecLimits, got),
              FailsWith(DeviceErrc::kOutOfRange, "plan: adapters"));
}

/// A device of whose rows' states a snapshot takes two pages, with places for three.
DeviceLimits limits_with_state() {
  DeviceLimits limits = kCodecLimits;
  limits.host_pages = 3;
  limits.state_bytes = 100;
  limits.snapshot_pages = 2;
  return limits;
}

/// A plan that restores a state from host memory, and keeps one.
Plan plan_with_snapshots() {
  Plan plan = full_plan();
  plan.restores = {{.row = 1, .first_page = 3, .after_copies = 1}};
  plan.snapshots = {{.row = 2, .first_page = 5}};
  plan.pages.insert(plan.pages.end(), {9, 10, 6, 7});
  return plan;
}

TEST(PlanCodec, BringsAcrossSnapshotsOfRowsStates) {
  const Plan sent = plan_with_snapshots();
  Plan got;
  ASSERT_TRUE(decode_plan(encoded(sent), limits_with_state(), got));
  EXPECT_EQ(got.restores, sent.restores);
  EXPECT_EQ(got.snapshots, sent.snapshots);
}

TEST(PlanCodec, RefusesSnapshotsThatTheDeviceHasNoRoomFor) {
  const std::vector<std::pair<const char*, std::function<void(Plan&)>>> wrongs = {
      {"restores", [](Plan& plan) { plan.restores.front().row = 4; }},
      {"restores", [](Plan& plan) { plan.restores.front().after_copies = 2; }},
      {"restores", [](Plan& plan) { plan.restores.front().after_copies = -1; }},
      {"restores", [](Plan& plan) { plan.restores.front().first_page = 6; }},
      {"restores", [](Plan& plan) { plan.pages[4] = 11; }},
      {"snapshots", [](Plan& plan) { plan.snapshots.front().row = -1; }},
      {"snapshots", [](Plan& plan) { plan.snapshots.front().first_page = 3; }},
  };
  for (const auto& [field, change] : wrongs) {
    Plan plan = plan_with_snapshots();
    change(plan);
    Plan got;
    EXPECT_THAT(decode_plan(encoded(plan), limits_with_state(), got),
                FailsWith(DeviceErrc::kOutOfRange, std::string("plan: ") + field));
  }
  Plan got;
  EXPECT_THAT(decode_plan(encoded(plan_with_snapshots()), kCodecLimits, got),
              FailsWith(DeviceErrc::kOutOfRange, "plan: restores"))
      << "of a device without state";
}

TEST(PlanCodec, RefusesWhatIsCutOffOrTooLong) {
  const std::vector<std::byte> whole = encoded(full_plan());
  Plan plan;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_plan(std::span(whole).first(size), kCodecLimits, plan)) << size << " bytes";
  }
  std::vector<std::byte> longer = whole;
  longer.push_back({});
  EXPECT_THAT(decode_plan(longer, kCodecLimits, plan),
              FailsWith(DeviceErrc::kOutOfRange, "plan: end"));
}

TEST(PlanCodec, RefusesIndicesBeyondWhatTheDeviceHas) {
  const std::vector<std::pair<const char*, std::function<void(Plan&)>>> wrongs = {
      {"moves", [](Plan& plan) { plan.moves.front().to = 4; }},
      {"copies", [](Plan& plan) { plan.copies.front().from = 8; }},
      {"copies", [](Plan& plan) { plan.slab_copies.front().to = -1; }},
      {"tables", [](Plan& plan) { plan.pages.front() = 8; }},
      {"encodes", [](Plan& plan) { plan.pages.back() = 6; }},
      {"starts", [](Plan& plan) { plan.starts.front().cross_context = 1; }},
      {"ids", [](Plan& plan) { plan.ids.front() = 100; }},
      {"starts", [](Plan& plan) { plan.starts.front().history_tokens = 100; }},
      {"starts", [](Plan& plan) { plan.starts.front().first_cross_page = -1; }},
      {"starts", [](Plan& plan) { plan.starts.front().traits.kv.angles = AngleSet{2}; }},
      {"starts", [](Plan& plan) { plan.starts.front().traits.second_text = -1; }},
      {"tables", [](Plan& plan) { plan.tables.front().first = 8; }},
      {"forks", [](Plan& plan) { plan.forks.front().copied_pages = 9; }},
      {"entries", [](Plan& plan) { plan.entries.front().start = 30; }},
      {"entries", [](Plan& plan) { plan.entries.back().count = 2; }},
      {"entries", [](Plan& plan) { plan.entries.front().guesses = -1; }},
      {"entries", [](Plan& plan) { plan.entries.front().guesses = 1; }},
      {"entries", [](Plan& plan) { plan.entries.back().unsure = 1; }},
      {"encodes", [](Plan& plan) { plan.encodes.front().count = 5; }},
      {"step", [](Plan& plan) { plan.entries.resize(5, plan.entries.back()); }},
      {"samples", [](Plan& plan) { plan.samples.front().entry = 2; }},
  };
  for (const auto& [list, spoil] : wrongs) {
    Plan plan = full_plan();
    spoil(plan);
    Plan got;
    EXPECT_THAT(decode_plan(encoded(plan), kCodecLimits, got),
                FailsWith(DeviceErrc::kOutOfRange, "plan: " + std::string(list)));
  }
}

TEST(RankSetup, ComesAcrossWhole) {
  RankSetup setup;
  setup.index = 1;
  setup.limits = kCodecLimits;
  setup.kv_dtype = DType::kI8;
  setup.threads = 2;
  setup.fingerprint = 77;
  setup.partition = "cpu,cpu";
  setup.memory = "/weft-1";
  setup.neighbours = 3;
  setup.addresses = {":7", "10.0.0.1:8"};
  setup.groups.emplace_back().fill('x');
  const auto bytes = encode_setup(setup);
  const auto got = decode_setup(bytes).value();
  EXPECT_EQ(got.index, 1);
  EXPECT_EQ(got.limits.vocabulary, 100);
  EXPECT_TRUE(got.limits.kv_on_host);
  EXPECT_TRUE(got.limits.rounds_rows);
  EXPECT_EQ(got.kv_dtype, DType::kI8);
  EXPECT_EQ(got.partition, "cpu,cpu");
  EXPECT_EQ(got.memory, "/weft-1");
  EXPECT_EQ(got.neighbours, 3);
  EXPECT_EQ(got.addresses, setup.addresses);
  EXPECT_EQ(got.groups, setup.groups);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_setup(std::span(bytes).first(size))) << size << " bytes";
  }
  setup.limits.page_tokens = 0;
  EXPECT_THAT(decode_setup(encode_setup(setup)),
              FailsWith(DeviceErrc::kRankLost, "fits no device"));
}

TEST(RankSetup, TakesNoMoreEntriesThanRanksMeet) {
  RankSetup setup;
  setup.limits = kCodecLimits;
  setup.addresses.resize(1000);
  EXPECT_THAT(decode_setup(encode_setup(setup)),
              FailsWith(DeviceErrc::kRankLost, "too many entries"));
}

TEST(RankRoom, ComesAcrossWhole) {
  RankRoom room;
  room.machine = "m";
  room.free_bytes = 5;
  room.host_bytes = 6;
  room.sees_memory = true;
  room.address = ":9";
  room.device = "GPU";
  room.architecture = 90;
  const auto bytes = encode_room(room);
  const auto got = decode_room(bytes).value();
  EXPECT_EQ(got.machine, "m");
  EXPECT_EQ(got.host_bytes, 6);
  EXPECT_TRUE(got.sees_memory);
  EXPECT_EQ(got.address, ":9");
  EXPECT_EQ(got.device, "GPU");
  EXPECT_EQ(got.architecture, 90);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_room(std::span(bytes).first(size))) << size << " bytes";
  }
  room.free_bytes = -1;
  EXPECT_THAT(decode_room(encode_room(room)), FailsWith(DeviceErrc::kRankLost, "no device has"));
}

TEST(RankQuestion, ComesAcrossWhole) {
  RankQuestion question;
  question.index = 2;
  question.partition = "cpu,cpu";
  question.memory = "/weft-2";
  question.mark = 88;
  const auto bytes = encode_question(question);
  const auto got = decode_question(bytes).value();
  EXPECT_EQ(got.index, 2);
  EXPECT_EQ(got.partition, "cpu,cpu");
  EXPECT_EQ(got.memory, "/weft-2");
  EXPECT_EQ(got.mark, 88U);
  question.index = -1;
  EXPECT_FALSE(decode_question(encode_question(question)));
}

TEST(ProcessesOfAPartition, PutTheRankThatChoosesIntoTheHead) {
  // "a,b | c,d": c chooses.
  EXPECT_EQ(index_of_process(0, 4, 2), 2);
  EXPECT_EQ(index_of_process(1, 4, 2), 3);
  EXPECT_EQ(index_of_process(2, 4, 2), 0);
  EXPECT_EQ(index_of_process(3, 4, 2), 1);
}

}  // namespace
}  // namespace weft
