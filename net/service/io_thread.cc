#include "weft/net/service/io_thread.h"

#include <boost/asio/post.hpp>
#include <utility>
#include <vector>

namespace weft {

bool WakeList::push(Wakeable& entry) noexcept {
  if (entry.queued_.exchange(true, std::memory_order_acq_rel)) return false;
  entry.self_ = entry.shared_from_this();
  Wakeable* newest = newest_.load(std::memory_order_relaxed);
  do {
    entry.next_ = newest;
  } while (!newest_.compare_exchange_weak(newest, &entry, std::memory_order_release,
                                          std::memory_order_relaxed));
  return newest == nullptr;
}

Wakeable* WakeList::take() noexcept {
  constexpr std::size_t kAhead = 320;  // bytes of an Answer up to the members that its prefetch()
                                       // reads
  Wakeable* entry = newest_.exchange(nullptr, std::memory_order_acquire);
  Wakeable* oldest = nullptr;
  while (entry != nullptr) {
    Wakeable* const older = std::exchange(entry->next_, oldest);
    Wakeable::prefetch_memory(entry, kAhead);
    oldest = std::exchange(entry, older);
  }
  return oldest;
}

void WakeList::wake_all() {
  Wakeable* entry = take();
  while (entry != nullptr) {
    Wakeable* const next = std::exchange(entry->next_, nullptr);
    if (next != nullptr) next->prefetch();
    const std::shared_ptr<Wakeable> self = std::move(entry->self_);
    // From here on, news queue the entry again. on_wake() must see all earlier news, also from
    // threads that found the entry queued. So this is an exchange, not just a store.
    entry->queued_.exchange(false, std::memory_order_acq_rel);
    entry->on_wake();
    entry = next;
  }
}

void WakeList::drop_all() noexcept {
  Wakeable* entry = take();
  while (entry != nullptr) {
    Wakeable* const next = std::exchange(entry->next_, nullptr);
    const std::shared_ptr<Wakeable> self = std::move(entry->self_);
    entry = next;
  }
}

void ConnectionCount::change(std::ptrdiff_t by) noexcept {
  if (count_.fetch_add(by) + by > 0) return;
  const std::scoped_lock lock(mutex_);
  none_.notify_all();
}

bool ConnectionCount::wait_until_none(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  return none_.wait_until(lock, until, [this] { return count_.load() == 0; });
}

void ConnectionCount::wait_until_none() {
  std::unique_lock lock(mutex_);
  none_.wait(lock, [this] { return count_.load() == 0; });
}

IoThread::IoThread(std::chrono::steady_clock::duration sweep, IoStalls::Report report)
    : work_(context_.get_executor()),
      sweep_every_(sweep),
      stalls_(std::move(report)),
      sweeper_(context_) {
  this->sweep();
  thread_ = std::thread([this] { context_.run(); });
}

void IoThread::wake(Wakeable& entry) noexcept {
  if (!woken_.push(entry)) return;
  boost::asio::post(context_, [this] {
    const IoStalls::Step measured(&stalls_);
    woken_.wake_all();
  });
}

void IoThread::add(std::shared_ptr<Connection> connection) {
  Connection& added = *connection;
  connections_.insert(std::move(connection));
  if (draining_) added.drain();
}

void IoThread::remove(Connection& connection) noexcept {
  const auto self = connection.shared_from_this();
  connections_.erase(self);
  self->place_.leave();
}

template <class Each>
void IoThread::for_each(Each each) {
  const IoStalls::Step measured(&stalls_);
  // The set is copied, because a connection may remove itself from it.
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) {
    connection->guarded([&] { each(*connection); });
  }
}

void IoThread::sweep() {
  sweeper_.expires_after(sweep_every_);
  sweeper_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    const auto now = std::chrono::steady_clock::now();
    for_each([now](Connection& connection) { connection.check_time(now); });
    sweep();
  });
}

void IoThread::drain() {
  boost::asio::post(context_, [this] {
    draining_ = true;
    for_each([](Connection& connection) { connection.drain(); });
  });
}

void IoThread::abort_all() {
  boost::asio::post(context_,
                    [this] { for_each([](Connection& connection) { connection.abort(); }); });
}

void IoThread::stop() noexcept {
  if (!thread_.joinable()) return;
  boost::asio::post(context_, [this] { context_.stop(); });  // posted, so that earlier work comes
                                                             // first
  thread_.join();
}

}  // namespace weft
