#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <string>

#include "weft/net/api/api_call.h"
#include "weft/net/api/fields/body_fields.h"
#include "weft/net/routes/route.h"

namespace weft {

/// A thread for long work that needs no engine, such as tokenizing a text, so that connections are
/// served meanwhile. At most kTextWork texts wait for it. Where processors are short, it lets the
/// model go first, like BodyWorkers. Thread-safe.
class TextWorker {
 public:
  /// Makes the reply's body from the request's body, or returns the body's mistake.
  using Work = std::function<ApiResult<std::string>(simdjson::dom::object)>;

  TextWorker();
  TextWorker(const TextWorker&) = delete;
  TextWorker& operator=(const TextWorker&) = delete;
  ~TextWorker() { stop(); }

  /// Returns a later reply, for which the call's body and its memory are kept; 429 at once when too
  /// many wait. The worker, and whatever `work` borrows, must outlive it.
  [[nodiscard]] RouteResult start(const HttpCall& call, Work work);

  /// Waits for the running work. Drops the waiting work without notifying clients.
  void stop() noexcept;

 private:
  std::atomic<int> waiting_{0};
  boost::asio::thread_pool thread_{1};
};

}  // namespace weft
