#pragma once

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>

#include "weft/core/background.h"
#include "weft/core/thread.h"
#include "weft/net/defaults.h"

namespace weft {

/// Threads that decode large bodies and messages, so that the I/O threads can serve their other
/// connections. The senders bound the queue: an HTTP connection has one body here at a time, a
/// WebSocket one for each of its streams and one more, and max_body_memory counts them all; evicted
/// responses that wait to be freed have a bound of their own (Service::make_store). Where
/// processors are short, the threads let the model go first. A client that sends large bodies thus
/// delays itself and not the streams of others. Thread-safe.
class BodyWorkers {
 public:
  BodyWorkers() = default;
  BodyWorkers(const BodyWorkers&) = delete;
  BodyWorkers& operator=(const BodyWorkers&) = delete;
  ~BodyWorkers() { stop(); }

  /// Runs `work` on one of the threads, after the work that was posted earlier. It must not throw.
  template <class Work>
  void post(Work work) {
    boost::asio::post(threads_, [work = std::move(work)]() mutable {
      set_up_thread();
      work();
    });
  }

  /// Waits for the running work. Drops the waiting work without notifying its senders.
  void stop() noexcept {
    threads_.stop();
    threads_.join();
  }

 private:
  /// Runs once on each thread, for all types of work, because each call lowers the priority again.
  static void set_up_thread() noexcept {
    thread_local bool is_set_up = false;
    if (std::exchange(is_set_up, true)) return;
    let_others_go_first();
    name_this_thread("large-bodies");
  }

  boost::asio::thread_pool threads_{net_defaults::kBodyThreads};
};

}  // namespace weft
