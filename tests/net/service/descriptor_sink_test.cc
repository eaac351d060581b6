#include "weft/net/service/descriptor_sink.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "weft/net/defaults.h"

namespace weft {
namespace {

using testing::HasSubstr;

/// A log that goes into a pipe, and the pipe's reader.
class PipedLog {
 public:
  /// With O_DIRECT in `flags` each read() gets the bytes of one write().
  explicit PipedLog(int flags = 0) {
    if (::pipe2(ends_.data(), flags) != 0) throw std::runtime_error("no pipe");
    sink_ = std::make_shared<DescriptorSink>(
        ends_[1], [](std::uint64_t lines) { return std::to_string(lines) + " dropped"; });
    logger_.emplace("test", sink_);
    logger_->set_pattern("%v");
  }
  ~PipedLog() {
    end_log();
    close_reader();
  }

  void say(const std::string& line) { logger_->info(line); }
  void flush() { logger_->flush(); }
  std::uint64_t take_dropped() { return sink_->take_dropped(); }

  /// Ends the sink, and with it the pipe.
  void end_log() {
    logger_.reset();
    sink_.reset();
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }
  void close_reader() {
    if (ends_[0] >= 0) ::close(std::exchange(ends_[0], -1));
  }

  /// How many bytes the pipe holds.
  [[nodiscard]] int held() const {
    int bytes = 0;
    return ::ioctl(ends_[0], FIONREAD, &bytes) == 0 ? bytes : -1;
  }

  /// How many bytes one read() gets.
  [[nodiscard]] std::size_t read_once() {
    std::array<char, PIPE_BUF> text{};
    const ssize_t got = ::read(ends_[0], text.data(), text.size());
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  /// Waits for so many bytes, or for the pipe's end.
  std::string read(std::size_t bytes) {
    std::string text(bytes, '\0');
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t got = ::read(ends_[0], text.data() + done, bytes - done);
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    text.resize(done);
    return text;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  std::shared_ptr<DescriptorSink> sink_;
  std::optional<spdlog::logger> logger_;
};

constexpr std::size_t kLineBytes = 1000;
constexpr std::size_t kTooMany = 2 * net_defaults::kMaxQueuedLogBytes / kLineBytes;

TEST(DescriptorSinkTest, WritesLinesInTheirOrder) {
  PipedLog log;
  log.say("one");
  log.say("two");
  EXPECT_EQ(log.read(8), "one\ntwo\n");
  EXPECT_EQ(log.take_dropped(), 0U);
}

TEST(DescriptorSinkTest, WritesTheLinesOfAMomentTogether) {
  constexpr std::size_t kLines = 3000;
  PipedLog log(O_DIRECT);
  for (std::size_t i = 0; i < kLines; ++i) log.say("line");
  std::size_t writes = 0;
  for (std::size_t bytes = 0; bytes < 5 * kLines; ++writes) bytes += log.read_once();
  EXPECT_LT(writes, kLines / 10);
}

TEST(DescriptorSinkTest, WritesALineThatIsLongerThanAPipe) {
  PipedLog log;
  const std::string line(300'000, 'x');
  log.say(line);
  EXPECT_EQ(log.read(line.size() + 1), line + '\n');
}

TEST(DescriptorSinkTest, NobodyWaitsForAPipeThatNobodyReadsAndALaterLineSaysWhatIsMissing) {
  PipedLog log;
  for (std::size_t i = 0; i < kTooMany; ++i) log.say(std::string(kLineBytes - 1, 'x'));
  const std::uint64_t dropped = log.take_dropped();
  EXPECT_GT(dropped, kTooMany / 4);
  EXPECT_LT(dropped, kTooMany);
  const std::string told = std::to_string(dropped) + " dropped\n";
  const std::string text = log.read((kTooMany - dropped) * kLineBytes + told.size());
  EXPECT_THAT(text, HasSubstr(told));
  log.say("later");
  EXPECT_EQ(log.read(6), "later\n");
  EXPECT_EQ(log.take_dropped(), 0U);
}

TEST(DescriptorSinkTest, EndsThoughNobodyReads) {
  PipedLog log;
  for (std::size_t i = 0; i < kTooMany; ++i) log.say(std::string(kLineBytes - 1, 'x'));
  log.end_log();
}

TEST(DescriptorSinkTest, WritesWhatIsQueuedBeforeItEnds) {
  PipedLog log;
  for (int i = 0; i < 30; ++i) log.say("line");
  log.end_log();
  EXPECT_EQ(log.read(1000).size(), 150U);
}

TEST(DescriptorSinkTest, IsFlushedOnceAllItsLinesAreWritten) {
  PipedLog log;
  for (int i = 0; i < 30; ++i) log.say("line");
  log.flush();
  EXPECT_EQ(log.held(), 150);
}

TEST(DescriptorSinkTest, FlushingEndsThoughNobodyReads) {
  PipedLog log;
  for (std::size_t i = 0; i < kTooMany; ++i) log.say(std::string(kLineBytes - 1, 'x'));
  log.flush();
  EXPECT_GT(log.held(), 0);
}

TEST(DescriptorSinkTest, AReaderThatIsGoneCostsLinesAndNotTheProcess) {
  PipedLog log;
  log.say("one");
  EXPECT_EQ(log.read(4), "one\n");
  log.close_reader();
  log.say("two");
  std::uint64_t dropped = 0;
  while (dropped == 0) dropped += log.take_dropped();
  EXPECT_EQ(dropped, 1U);
}

}  // namespace
}  // namespace weft
