#include "weft/net/service/descriptor_sink.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "weft/core/thread.h"
#include "weft/net/defaults.h"

namespace weft {
namespace {

// How often a thread that waits for the log's reader checks whether the program ends.
constexpr std::chrono::milliseconds kLook{50};

// How long lines are collected before they are written together. Otherwise a server that refuses a
// thousand requests a second would wake the thread as often, and take a processor from a step.
constexpr std::chrono::milliseconds kGather{5};

std::uint64_t lines_of(std::string_view text) {
  return static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

}  // namespace

DescriptorSink::DescriptorSink(int descriptor, DroppedText dropped_text)
    : descriptor_(descriptor),
      dropped_text_(std::move(dropped_text)),
      last_looks_(net_defaults::kLastLogLines / kLook) {}

DescriptorSink::~DescriptorSink() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_.store(true);
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void DescriptorSink::sink_it_(const spdlog::details::log_msg& message) {
  if (queued_bytes_ >= net_defaults::kMaxQueuedLogBytes) return drop(1);
  spdlog::memory_buf_t text;
  formatter_->format(message, text);
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { run(); });
  }
  lines_.emplace_back(text.data(), text.size());
  queued_bytes_ += text.size();
  if (lines_.size() == 1) changed_.notify_all();
}

void DescriptorSink::drop(std::uint64_t lines) noexcept {
  dropped_.fetch_add(lines);
  untold_ += lines;
}

void DescriptorSink::flush_() {
  std::unique_lock lock(mutex_, std::adopt_lock);  // the base class has locked it, and unlocks it
  ++flushing_;
  changed_.notify_all();
  changed_.wait_for(lock, net_defaults::kLastLogLines, [&] { return queued_bytes_ == 0; });
  --flushing_;
  lock.release();
}

void DescriptorSink::run() noexcept {
  name_this_thread("weft-log");
  block_sigpipe_in_this_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_.load() || !lines_.empty(); });
    if (lines_.empty()) return;
    changed_.wait_for(lock, kGather, [&] {
      return stopping_.load() || flushing_ > 0 || queued_bytes_ >= PIPE_BUF;
    });
    const std::size_t waiting = lines_.size();
    std::string text;
    try {
      text = next_text();
    } catch (const std::exception&) {  // no memory for the text, so its lines are lost
      drop(waiting - lines_.size());
      queued_bytes_ = 0;
      for (const std::string& line : lines_) queued_bytes_ += line.size();
      continue;
    }
    lock.unlock();
    const std::string_view left = write(text);
    lock.lock();
    queued_bytes_ -= std::min(queued_bytes_, text.size());
    drop(lines_of(left));
    if (queued_bytes_ == 0) changed_.notify_all();
  }
}

// Returns the next lines, about as many as one write takes, and a line that says how many are
// missing after them. Their bytes count as queued until they are written.
std::string DescriptorSink::next_text() {
  std::string text = std::move(lines_.front());
  lines_.pop_front();
  while (!lines_.empty() && text.size() + lines_.front().size() <= PIPE_BUF) {
    text.append(lines_.front());
    lines_.pop_front();
  }
  if (!lines_.empty() || untold_ == 0) return text;
  const std::string told = dropped_text_(std::exchange(untold_, 0));
  spdlog::memory_buf_t line;
  formatter_->format({"weft", spdlog::level::warn, told}, line);
  queued_bytes_ += line.size();
  return text.append(line.data(), line.size());
}

// Returns the rest that was not written because the reader has gone.
std::string_view DescriptorSink::write(std::string_view text) noexcept {
  while (!text.empty()) {
    if (!wait_until_writable()) break;
    // A descriptor that poll() calls writable takes this many bytes without waiting.
    const ssize_t written =
        ::write(descriptor_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR && errno != EAGAIN) break;
  }
  return text;
}

bool DescriptorSink::wait_until_writable() noexcept {
  while (last_looks_ > 0) {
    pollfd what{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&what, 1, static_cast<int>(kLook.count()));
    if (ready > 0) return (what.revents & POLLOUT) != 0 && (what.revents & POLLERR) == 0;
    if (ready < 0 && errno != EINTR) return false;
    if (stopping_.load()) --last_looks_;
  }
  return false;
}

}  // namespace weft
