#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/schedule/scheduler_fixture.h"

namespace weft::test {

/// A scheduler whose pages go to files in a folder of the test's own.
class SchedulerFilesFixture : public SchedulerFixture {
 protected:
  void TearDown() override {
    SchedulerFixture::TearDown();
    if (files_) files_->close();
  }
  /// Runs until no group waits, also not for pages.
  void finish() {
    finish_all();
    while (scheduler_->stats().waiting > 0) {
      std::this_thread::yield();
      now_ += std::chrono::microseconds(1);
      finish_all();
    }
  }
  /// Returns how many tokens the device computes for it alone.
  std::uint64_t tokens_fed_by(const Ask& ask) {
    const std::uint64_t before = device_->tokens();
    submit(ask);
    finish();
    return device_->tokens() - before;
  }
  void wait_until_written(std::uint64_t pages) const {
    while (files_->stats().written < pages) std::this_thread::yield();
  }
  /// Waits until what the scheduler has asked for by now is read.
  void wait_for_reads() const {
    const auto last = std::make_shared<PageRead>(std::vector{PageKey{}}, std::vector{0});
    files_->read(last);
    std::int32_t done = 0;
    Duration took{};
    while (!files_->is_over(*last, done, took)) std::this_thread::yield();
  }

  TempFolder folder_;
};

}  // namespace weft::test
