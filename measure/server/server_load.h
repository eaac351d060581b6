#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/measure/load/load.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/server/load_client.h"

namespace weft::measure {

/// Plays a load against a server: each request at its time, even if earlier ones have not ended,
/// except for requests that Load::at_once holds back. Belongs to the executor's one thread.
class ServerLoad {
 public:
  /// The counts of requests and tokens so far.
  struct Progress {
    std::size_t sent = 0;
    std::size_t ended = 0;
    std::size_t failed = 0;   ///< ended requests that failed
    std::int64_t output = 0;  ///< tokens of the requests that have ended
    [[nodiscard]] std::size_t under_way() const noexcept { return sent - ended; }
  };
  /// Outcome::error of a request that stop() has kept from being sent, or has broken off.
  static constexpr std::string_view kNotSent = "not sent";
  static constexpr std::string_view kStopped = "stopped";
  /// The most kinds of error that are distinguished, because a server may invent one for each
  /// request.
  static constexpr std::size_t kKinds = 64;
  static constexpr std::string_view kOthers = "others";

  /// `client` serves only this load, and lives until the executor's context has ended.
  ServerLoad(const boost::asio::any_io_executor& executor, Load load, LoadClient& client);
  ServerLoad(const ServerLoad&) = delete;
  ServerLoad& operator=(const ServerLoad&) = delete;

  /// Called once. `on_end` is called when each request has its outcome. Without requests this may
  /// be before start() returns.
  void start(std::function<void()> on_end);
  /// Breaks off the requests under way and sends no more.
  void stop();

  [[nodiscard]] const Progress& progress() const noexcept { return progress_; }
  /// Returns the output tokens so far; a request under way counts its pieces. Looks at each request
  /// under way.
  [[nodiscard]] std::int64_t output_so_far() const;
  /// Returns the outcomes in the order of arrivals, one for each request, whether it succeeded or
  /// not; complete when the load has ended.
  [[nodiscard]] const std::vector<Outcome>& outcomes() const noexcept { return outcomes_; }
  /// The server's words about the first error of each kind.
  [[nodiscard]] const std::map<std::string, std::string>& words() const noexcept { return words_; }

 private:
  void send_due();
  void wait_for_next();
  void send(std::size_t number);
  void on_outcome(std::size_t number, Outcome outcome, const std::string& detail);
  [[nodiscard]] bool may_send() const noexcept;
  [[nodiscard]] TimePoint time_of(double seconds) const noexcept;

  const Load load_;
  const bool closed_loop_;
  LoadClient& client_;
  boost::asio::steady_timer timer_;
  TimePoint began_{};
  std::size_t due_ = 0;                // the first arrival whose time has not come
  std::deque<std::size_t> held_back_;  // due requests that wait because of at_once
  std::map<std::size_t, std::weak_ptr<AnswerMeter>> under_way_;
  std::vector<Outcome> outcomes_;
  std::map<std::string, std::string> words_;
  Progress progress_;
  bool stopping_ = false;
  std::function<void()> on_end_;
};

}  // namespace weft::measure
