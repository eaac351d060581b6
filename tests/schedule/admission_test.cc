#include "weft/schedule/admission.h"

#include <gtest/gtest.h>

#include "weft/tests/schedule/scheduler_parts.h"

namespace weft::test {
namespace {

struct AdmissionParts : SchedulerParts {
  explicit AdmissionParts(const SchedulerOptions& how = small_options())
      : SchedulerParts(how),
        leaders(how, memory, running, times),
        admission(how, rows, memory, adapters, waiting, running, leaders) {}

  Group* choose(RequestClass cls = RequestClass::kChat) const {
    return admission.choose(cls).group;
  }

  StepTimeModel times;
  PrefixLeaders leaders;
  Admission admission;
};

SchedulerOptions with_policy(BatchPolicy policy) {
  SchedulerOptions options = small_options();
  options.policy = policy;
  options.window = Duration(100);
  return options;
}

TEST(Admission, ChoosesTheFirstThatFits) {
  AdmissionParts parts;
  EXPECT_EQ(parts.choose(), nullptr);
  Group& first = parts.arrive({});
  parts.arrive({});
  EXPECT_EQ(parts.choose(), &first);
  EXPECT_EQ(parts.choose(RequestClass::kBatch), nullptr);
}

TEST(Admission, PassesOverWhoLacksRowsAndCountsIt) {
  AdmissionParts parts;
  parts.begin({.sequences = 2});
  Group& wide = parts.arrive({.sequences = 3});
  Group& narrow = parts.arrive({});
  EXPECT_EQ(parts.choose(), &narrow);
  EXPECT_EQ(wide.overtaken, 1);
  EXPECT_EQ(narrow.overtaken, 0);
}

TEST(Admission, PassesOverWhoLacksPages) {
  AdmissionParts parts;
  parts.begin({.prompt = 6 * 4});
  parts.arrive({.prompt = 2 * 4});  // and a page for the next token
  Group& small = parts.arrive({.prompt = 7});
  EXPECT_EQ(parts.choose(), &small);
}

TEST(Admission, PassesOverWhoLacksPagesOfTheEncoder) {
  SchedulerOptions options = small_options();
  options.limits.cross_pages = 2;
  AdmissionParts parts(options);
  parts.arrive({.encoder_input = 9});
  Group& small = parts.arrive({.encoder_input = 8});
  EXPECT_EQ(parts.choose(), &small);
}

TEST(Admission, IsBlockedByAGroupThatWasOvertakenTooOften) {
  AdmissionParts parts;
  parts.begin({.sequences = 2});
  Group& wide = parts.arrive({.sequences = 3});
  Group& narrow = parts.arrive({});
  wide.overtaken = Admission::kMaxOvertakes - 1;
  EXPECT_EQ(parts.choose(), &narrow);
  const AdmissionChoice choice = parts.admission.choose(RequestClass::kChat);
  EXPECT_EQ(choice.group, nullptr);
  EXPECT_TRUE(choice.blocked);
}

TEST(Admission, KeepsTheWatermarkFreeBesideOthersButNotForOneAlone) {
  SchedulerOptions options = small_options();
  options.watermark = 0.25;  // two of eight pages
  AdmissionParts parts(options);
  Group& alone = parts.arrive({.prompt = 27});
  EXPECT_TRUE(parts.admission.fits(alone));
  parts.begin({.prompt = 4});
  EXPECT_FALSE(parts.admission.fits(*make_group({.prompt = 23})));  // six of seven
  EXPECT_TRUE(parts.admission.fits(*make_group({.prompt = 19})));
}

TEST(Admission, CountsTheLongestOutputsInReserveMode) {
  SchedulerOptions options = small_options();
  options.admission = AdmissionMode::kReserve;
  AdmissionParts parts(options);
  parts.begin({.prompt = 4, .max_tokens = 13});  // four pages, of which it has one
  EXPECT_FALSE(parts.admission.fits(*make_group({.prompt = 4, .max_tokens = 14})));
  EXPECT_TRUE(parts.admission.fits(*make_group({.prompt = 4, .max_tokens = 13})));
}

TEST(Admission, ChoosesChatThatFitsOnceBatchGivesWay) {
  AdmissionParts parts;
  parts.begin({.sequences = 4, .cls = RequestClass::kBatch});
  Group& chat = parts.arrive({});
  EXPECT_FALSE(parts.admission.fits(chat));
  EXPECT_EQ(parts.choose(), &chat);
  parts.arrive({.cls = RequestClass::kBatch});
  EXPECT_EQ(parts.choose(RequestClass::kBatch), nullptr) << "batch gives way to chat alone";
}

TEST(Admission, LetsBatchKeepItsPlaceWhereThatWouldNotBeEnough) {
  AdmissionParts parts;
  parts.begin({.sequences = 2});
  parts.begin({.sequences = 2, .cls = RequestClass::kBatch});
  parts.arrive({.sequences = 3});
  EXPECT_EQ(parts.choose(), nullptr);
}

TEST(Admission, CountsASharedPageOfBatchOnce) {
  AdmissionParts parts;
  Group& batch = parts.begin({.prompt = 4 * 4, .sequences = 2, .cls = RequestClass::kBatch});
  EXPECT_EQ(parts.memory.fork(batch.sequences[0], batch.sequences[1]), 0);
  parts.begin({.prompt = 4});
  parts.arrive({.prompt = 7 * 4});  // eight pages with the next token's; seven would be free
  EXPECT_EQ(parts.choose(), nullptr);
  Group& fits = parts.arrive({.prompt = 7 * 4 - 1});
  EXPECT_EQ(parts.choose(), &fits);
}

TEST(Admission, IsAlwaysOpenToFusionWhileSomebodyWaits) {
  AdmissionParts parts;
  EXPECT_FALSE(parts.admission.is_open(parts.now));
  parts.arrive({});
  EXPECT_TRUE(parts.admission.is_open(parts.now));
  parts.begin({});
  EXPECT_TRUE(parts.admission.is_open(parts.now));
  EXPECT_FALSE(parts.admission.opens_at());
}

TEST(Admission, IsClosedToStaticBatchesWhileOneRuns) {
  AdmissionParts parts(with_policy(BatchPolicy::kStatic));
  parts.arrive({});
  EXPECT_TRUE(parts.admission.is_open(parts.now));
  Group& runs = parts.begin({});
  EXPECT_FALSE(parts.admission.is_open(parts.now));
  parts.running.remove(runs);
  EXPECT_TRUE(parts.admission.is_open(parts.now));
}

TEST(Admission, OpensAWindowsBatchAtItsEndOrWhenItIsFull) {
  AdmissionParts parts(with_policy(BatchPolicy::kWindow));
  parts.arrive({});
  const TimePoint end = parts.now + Duration(100);
  EXPECT_EQ(parts.admission.opens_at(), end);
  EXPECT_FALSE(parts.admission.is_open(end - Duration(1)));
  EXPECT_TRUE(parts.admission.is_open(end));
  for (int i = 0; i < 3; ++i) parts.arrive({});
  EXPECT_TRUE(parts.admission.is_open(parts.now)) << "as many as rows";
}

TEST(Admission, SaysWhyAGroupNeverFits) {
  const AdmissionParts parts;
  const auto why = [&](const GroupWish& wish) {
    return parts.admission.never_fits(make_group(wish)->spec);
  };
  EXPECT_EQ(why({}), "");
  EXPECT_EQ(why({.sequences = 5}), "5 sequences, the engine has 4 rows");
  EXPECT_EQ(why({.prompt = 30, .max_tokens = 4}),
            "1 sequences of 34 tokens take 9 pages, the engine has 8");
  EXPECT_EQ(why({.encoder_input = 17}), "an encoder's input of 17 tokens, a step has 16");
}

}  // namespace
}  // namespace weft::test
