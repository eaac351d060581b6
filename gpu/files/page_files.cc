#include "weft/gpu/files/page_files.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/core/error/internal_error.h"

namespace weft {

PageFiles::PageFiles(std::unique_ptr<PageFolder> folder, const PageKey& identity,
                     std::unique_ptr<PageMemory> memory, std::int32_t pages)
    : folder_(std::move(folder)),
      identity_(identity),
      memory_(std::move(memory)),
      buffer_(memory_->page_bytes()),
      wanted_(static_cast<std::size_t>(pages)) {
  if (folder_->foreign() > 0) {
    untold_.push_back(
        "cache.folder: " + std::to_string(folder_->foreign()) +
        " files are torn, or of another model, version or program; they are not read");
  }
  if (folder_->is_open_to_others()) {
    untold_.push_back("cache.folder: the mode of " + folder_->path().string() +
                      " lets others in, who may see or change what is kept; 0700 does not");
  }
  thread_ = std::thread([this] { work(); });
}

PageFiles::~PageFiles() { close(); }

void PageFiles::tell_by(std::function<void(const std::string& what)> tell) {
  const std::scoped_lock lock(mutex_);
  tell_ = std::move(tell);
  if (!tell_) return;
  for (const std::string& what : untold_) tell_(what);
  untold_.clear();
}

bool PageFiles::attach() {
  Lock lock(mutex_);
  saves_.clear();
  std::ranges::fill(wanted_, 0);
  for (const auto& one : reads_) one->over_ = true;
  reads_.clear();
  copied_.wait(lock, [this] { return copying_ < 0; });
  return !std::exchange(attached_, true);
}

void PageFiles::close() {
  {
    const std::scoped_lock lock(mutex_);
    if (!closing_) close_by_ = std::chrono::steady_clock::now() + kLastWrites;
    closing_ = true;
  }
  has_work_.notify_all();
  if (thread_.joinable()) thread_.join();
  memory_.reset();
}

bool PageFiles::contains(const PageKey& key) const { return folder_->contains(key); }

bool PageFiles::save(std::int32_t page, const PageKey& key) {
  {
    const std::scoped_lock lock(mutex_);
    if (closing_) return false;
    if (saves_.size() >= kMostWaiting) {
      ++stats_.dropped;
      return false;
    }
    saves_.push_back({page, key, ++orders_});
    wanted_[static_cast<std::size_t>(page)] = orders_;
  }
  has_work_.notify_one();
  return true;
}

void PageFiles::withdraw(std::int32_t page) {
  Lock lock(mutex_);
  if (std::exchange(wanted_[static_cast<std::size_t>(page)], 0) == 0) return;
  wait_for_copy(lock, page);
}

void PageFiles::read(const std::shared_ptr<PageRead>& what) {
  {
    const std::scoped_lock lock(mutex_);
    if (closing_) {
      what->over_ = true;
      return;
    }
    reads_.push_back(what);
  }
  has_work_.notify_one();
}

bool PageFiles::is_over(const PageRead& what, std::int32_t& done, Duration& took) const {
  const std::scoped_lock lock(mutex_);
  done = what.done_;
  took = what.took_;
  return what.over_;
}

void PageFiles::cancel(PageRead& what) {
  Lock lock(mutex_);
  if (std::exchange(what.over_, true)) return;
  std::erase_if(reads_, [&what](const auto& one) { return one.get() == &what; });
  for (const std::int32_t page : what.pages_) wait_for_copy(lock, page);
}

void PageFiles::wait_for_copy(Lock& lock, std::int32_t page) {
  copied_.wait(lock, [this, page] { return copying_ != page; });
}

PageFilesStats PageFiles::stats() const {
  const std::scoped_lock lock(mutex_);
  PageFilesStats stats = stats_;
  stats.pages = folder_->size();
  stats.bytes = folder_->bytes();
  return stats;
}

void PageFiles::work() {
  Lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [this] { return closing_ || !saves_.empty() || !reads_.empty(); });
    if (closing_) {
      for (const auto& one : reads_) one->over_ = true;
      reads_.clear();
      if (saves_.empty() || std::chrono::steady_clock::now() > close_by_) return;
    }
    // Reads go first, because a sequence waits for the page.
    if (!reads_.empty()) {
      read_one(lock);
    } else {
      save_one(lock);
    }
  }
}

void PageFiles::read_one(Lock& lock) {
  const std::shared_ptr<PageRead> read = reads_.front();
  const auto next = static_cast<std::size_t>(read->done_);
  const PageKey key = read->keys_[next];
  lock.unlock();
  const auto began = std::chrono::steady_clock::now();
  Result<void> done = folder_->read(key, buffer_);
  lock.lock();
  if (done && !read->over_) done = copy(lock, read->pages_[next], true);
  note(lock, done, told_of_reading_, "reading pages of the KV cache");
  if (read->over_) return;
  if (done) {
    ++stats_.read;
    ++read->done_;
    read->took_ += std::chrono::steady_clock::now() - began;
    if (next + 1 < read->keys_.size()) return;
  }
  read->over_ = true;
  reads_.pop_front();
}

void PageFiles::save_one(Lock& lock) {
  const Save save = saves_.front();
  saves_.pop_front();
  std::uint64_t& wanted = wanted_[static_cast<std::size_t>(save.page)];
  if (wanted != save.order) return;
  Result<void> done = copy(lock, save.page, false);
  if (wanted == save.order) wanted = 0;
  lock.unlock();
  if (done) done = folder_->write(save.key, buffer_);
  lock.lock();
  if (done) ++stats_.written;
  note(lock, done, told_of_writing_, "writing pages of the KV cache");
}

/// Copies between the buffer and a page of the device, without the lock.
Result<void> PageFiles::copy(Lock& lock, std::int32_t page, bool into_memory) {
  copying_ = page;
  lock.unlock();
  const auto copied = into_memory ? memory_->take(page, buffer_) : memory_->give(page, buffer_);
  lock.lock();
  copying_ = -1;
  copied_.notify_all();
  return copied;
}

void PageFiles::note(Lock& lock, const Result<void>& done, bool& told, const char* what) {
  if (done) {
    told = false;
    return;
  }
  ++stats_.failures;
  if (std::exchange(told, true)) return;
  const std::string text = "cache.folder: " + std::string(what) + ": " + to_string(done.error()) +
                           "; what is lost is computed again";
  const auto tell = tell_;
  if (!tell) return untold_.push_back(text);
  lock.unlock();
  tell(text);
  lock.lock();
}

}  // namespace weft
