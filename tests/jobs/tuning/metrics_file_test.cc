#include "weft/jobs/tuning/metrics_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <string>
#include <vector>

#include "weft/core/io/file.h"
#include "weft/tests/fixture/temp_folder.h"

namespace weft::test {
namespace {

std::vector<StepReport> steps(std::int64_t first, std::int64_t last) {
  std::vector<StepReport> all;
  for (std::int64_t step = first; step <= last; ++step)
    all.push_back({.step = step,
                   .loss = 0.5 * static_cast<double>(step),
                   .norm = 1,
                   .rate = 0.25,
                   .tokens = 10});
  return all;
}

TEST(MetricsFileTest, DropsTheStepsThatAreDoneAgain) {
  const TempFolder temp;
  const MetricsFile file(temp.path() / "metrics.csv");
  EXPECT_EQ(file.cut(0)->tokens, 0);
  EXPECT_EQ(file.text().value(), "step,train_loss,learning_rate,grad_norm,tokens\n");
  ASSERT_TRUE(file.append(steps(1, 3)));
  ASSERT_TRUE(file.append(steps(4, 5)));
  const auto left = file.cut(2);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->tokens, 20);
  EXPECT_EQ(left->loss, 1);
  EXPECT_EQ(file.text().value(),
            "step,train_loss,learning_rate,grad_norm,tokens\n1,0.5,0.25,1,10\n2,1,0.25,1,10\n");
}

TEST(MetricsFileTest, WhateverAProcessHasWrittenOfALineWholeLinesStay) {
  const TempFolder temp;
  const MetricsFile file(temp.path() / "metrics.csv");
  ASSERT_TRUE(file.cut(0));
  ASSERT_TRUE(file.append(steps(1, 2)));
  const std::string whole = file.text().value();
  const std::size_t second = whole.find("\n2,") + 1;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    temp.write("metrics.csv", whole.substr(0, size));
    const auto left = file.cut(2);
    ASSERT_TRUE(left) << size;
    const std::string text = file.text().value();
    EXPECT_TRUE(whole.starts_with(text) && text.ends_with('\n')) << size;
    if (size >= second) {
      EXPECT_EQ(left->tokens, 10) << size;
    }
    ASSERT_TRUE(file.append(steps(3, 3)));  // goes behind a whole line
    EXPECT_TRUE(file.text()->ends_with("\n3,1.5,0.25,1,10\n"));
  }
}

TEST(MetricsFileTest, OfStepsThatTheDiskHasNoRoomForNoPartStays) {
  const TempFolder temp;
  const MetricsFile file(temp.path() / "metrics.csv");
  ASSERT_TRUE(file.cut(0));
  const std::string before = file.text().value();
  ::rlimit all{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &all), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const ::rlimit few{.rlim_cur = before.size() + 3, .rlim_max = all.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &few), 0);
  const auto appended = file.append(steps(1, 2));
  ::setrlimit(RLIMIT_FSIZE, &all);
  static_cast<void>(std::signal(SIGXFSZ, handler));
  EXPECT_FALSE(appended);
  EXPECT_EQ(file.text().value(), before);
}

}  // namespace
}  // namespace weft::test
