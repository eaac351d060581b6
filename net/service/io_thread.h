#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>

#include "weft/net/service/io_stalls.h"

namespace weft {

/// An object that an I/O thread must look at because another thread has news for it. It is in its
/// thread's list at most once, however often it is woken.
class Wakeable : public std::enable_shared_from_this<Wakeable> {
 public:
  Wakeable() = default;
  Wakeable(const Wakeable&) = delete;
  Wakeable& operator=(const Wakeable&) = delete;
  virtual ~Wakeable() = default;

 protected:
  /// Called on the I/O thread, once for any number of earlier wakes.
  virtual void on_wake() = 0;
  /// Prefetches the memory that on_wake() will read, while another entry's on_wake() runs. A tick
  /// wakes a thousand entries, none of them is in the cache, and each load depends on the pointer
  /// before it.
  virtual void prefetch() const noexcept {}
  static void prefetch_memory(const void* memory, std::size_t bytes) noexcept {
    constexpr std::size_t kLine = 64;
    for (std::size_t i = 0; i < bytes; i += kLine) {
      __builtin_prefetch(static_cast<const char*>(memory) + i);
    }
  }

 private:
  friend class WakeList;
  std::atomic<bool> queued_{false};
  Wakeable* next_ = nullptr;
  std::shared_ptr<Wakeable> self_;  // set while it is in the list
};

/// The woken entries, from any thread to one thread: a stack linked through the entries, taken as a
/// whole. A tick that has news for a thousand connections thus posts once, and allocates nothing.
class WakeList {
 public:
  WakeList() = default;
  WakeList(const WakeList&) = delete;
  WakeList& operator=(const WakeList&) = delete;
  ~WakeList() { drop_all(); }

  /// Adds an entry. Thread-safe. Returns true for the first entry since a take; the caller must
  /// then make the list's thread take it.
  bool push(Wakeable& entry) noexcept;
  /// Calls on_wake() of each entry, the earliest first. One thread only.
  void wake_all();
  void drop_all() noexcept;

 private:
  Wakeable* take() noexcept;
  std::atomic<Wakeable*> newest_{nullptr};
};

/// Counts the connections of all threads. Thread-safe.
class ConnectionCount {
 public:
  /// Counts one connection, from the moment it is accepted. It moves together with the connection's
  /// socket.
  class Place {
   public:
    explicit Place(ConnectionCount& count) noexcept : count_(&count) { count.change(1); }
    Place(Place&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
    Place& operator=(Place&&) = delete;
    ~Place() { leave(); }
    void leave() noexcept {
      if (count_ != nullptr) std::exchange(count_, nullptr)->change(-1);
    }

   private:
    ConnectionCount* count_;
  };

  [[nodiscard]] std::size_t now() const noexcept { return static_cast<std::size_t>(count_.load()); }
  /// Waits until there are no connections; returns false if some are left at `until`.
  bool wait_until_none(std::chrono::steady_clock::time_point until);
  void wait_until_none();

 private:
  void change(std::ptrdiff_t by) noexcept;

  std::atomic<std::ptrdiff_t> count_{0};
  std::mutex mutex_;
  std::condition_variable none_;
};

/// A connection as its I/O thread manages it. The thread asks it some times a second whether it has
/// waited too long, and tells it when the server drains.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `stalls` belongs to its thread; null: its steps are not measured.
  explicit Connection(ConnectionCount::Place place, IoStalls* stalls = nullptr) noexcept
      : place_(std::move(place)), stalls_(stalls) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  virtual void check_time(Time now) = 0;
  /// Takes no new work, and ends as soon as its running work has ended.
  virtual void drain() = 0;
  /// Ends at once.
  virtual void abort() = 0;

 protected:
  /// Wraps a function that an operation or an answer's news calls. An exception, most often for
  /// lack of memory, thus ends this connection and no other.
  template <class Step>
  void guarded(Step step) noexcept {
    const IoStalls::Step measured(stalls_);
    try {
      step();
    } catch (const std::exception& failure) {
      on_exception(failure);
    }
  }
  /// Logs why, and ends the connection.
  virtual void on_exception(const std::exception& failure) noexcept = 0;
  /// Takes the place for a connection that takes over this one's socket.
  [[nodiscard]] ConnectionCount::Place take_place() noexcept { return std::move(place_); }

 private:
  friend class IoThread;
  ConnectionCount::Place place_;
  IoStalls* const stalls_;
};

/// A thread with an io_context of its own. Each connection runs on one such thread, and so needs no
/// lock and no strand. The server's owner makes, stops and destroys it.
class IoThread {
 public:
  /// `sweep` is how often connections check their time limits.
  explicit IoThread(std::chrono::steady_clock::duration sweep, IoStalls::Report report = {});
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;
  ~IoThread() { stop(); }

  [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }
  [[nodiscard]] bool is_here() const noexcept {
    return std::this_thread::get_id() == thread_.get_id();
  }

  /// Returns the stalls of work on this thread.
  [[nodiscard]] IoStalls& stalls() noexcept { return stalls_; }

  /// Makes the thread call the entry's on_wake(). Thread-safe.
  void wake(Wakeable& entry) noexcept;

  /// Adds and removes a connection. Called on this thread.
  void add(std::shared_ptr<Connection> connection);
  void remove(Connection& connection) noexcept;
  [[nodiscard]] bool draining() const noexcept { return draining_; }

  /// Drains its connections. Thread-safe.
  void drain();
  void abort_all();
  /// Ends the thread when its earlier work is done; operations under way are dropped.
  void stop() noexcept;

 private:
  void sweep();
  template <class Each>
  void for_each(Each each);

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  const std::chrono::steady_clock::duration sweep_every_;
  IoStalls stalls_;
  boost::asio::steady_timer sweeper_;
  WakeList woken_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  bool draining_ = false;
  std::thread thread_;
};

}  // namespace weft
