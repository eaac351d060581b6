#include "weft/schedule/memory/files/page_saver.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "weft/tests/fixture/temp_folder.h"

namespace weft {
namespace {

constexpr std::size_t kPageBytes = 8;
constexpr std::array<TokenId, 2> kTokens{5, 6};

class PageSaverTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<PageBlock> blocks{{memory_.data(), kPageBytes}};
    files_ = std::make_shared<PageFiles>(
        PageFolder::open(folder_.path(), PageKey{}, kPageBytes, std::int64_t{1} << 20U).value(),
        PageKey{}, std::make_unique<HostPageMemory>(blocks), 2);
    saver_ = std::make_unique<PageSaver>(clock_, copies_, files_, 2);
    for (int i = 0; i < 7; ++i) make_plan();
    saver_->on_kept({}, kNoPage, 0, kTokens);
  }
  void TearDown() override { files_->close(); }

  void make_plan() {
    clock_.begin_plan();
    clock_.write();
  }
  /// Lets so many plans run, and has the saver look.
  void run_to(std::uint64_t plan) {
    while (clock_.over() < plan) clock_.run(clock_.over() + 1);
    saver_->advance();
  }
  /// Returns when the thread of the files has had work since this was called.
  void wait_for_thread() const {
    const auto read = std::make_shared<PageRead>(std::vector{PageKey{}}, std::vector{1});
    files_->read(read);
    std::int32_t done = 0;
    Duration took{};
    while (!files_->is_over(*read, done, took)) std::this_thread::yield();
  }

  test::TempFolder folder_;
  std::array<std::byte, 2 * kPageBytes> memory_{};
  std::shared_ptr<PageFiles> files_;
  PlanClock clock_;
  std::vector<PlanCopy> copies_;
  std::unique_ptr<PageSaver> saver_;
};

TEST_F(PageSaverTest, SavesWhatWasLeftOnceTheTicksBeforeHaveRun) {
  saver_->on_left(0);
  run_to(6);
  wait_for_thread();
  EXPECT_EQ(files_->stats().written, 0U);
  run_to(7);
  while (files_->stats().written == 0) std::this_thread::yield();
}

TEST_F(PageSaverTest, SavesWhatTheNextTickCopiesOnceThatHasRun) {
  copies_.push_back({1, 0});
  saver_->on_left(0);
  copies_.clear();
  run_to(7);
  for (int i = 0; i < 3; ++i) wait_for_thread();
  EXPECT_EQ(files_->stats().written, 0U);
  make_plan();
  run_to(8);
  while (files_->stats().written == 0) std::this_thread::yield();
}

TEST_F(PageSaverTest, DoesNotSaveWhatIsForgottenMeanwhile) {
  saver_->on_left(0);
  saver_->on_forgotten(0);
  run_to(7);
  for (int i = 0; i < 3; ++i) wait_for_thread();
  EXPECT_EQ(files_->stats().written, 0U);
}

}  // namespace
}  // namespace weft
