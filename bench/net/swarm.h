#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weft::bench {

/// Makes a connection to loopback. Throws std::system_error.
[[nodiscard]] int connect_to(std::uint16_t port, int receive_buffer = 0);
void send_all(int fd, std::string_view bytes);
/// Returns the request that begins a WebSocket.
[[nodiscard]] std::string upgrade_request();
/// Returns a client's frame with this text.
[[nodiscard]] std::string masked_frame(std::string_view text);

/// Thousands of WebSocket clients, with a few epoll loops for all. Each client checks every event:
/// sequence numbers have no gap, and the letters are the ones that a LetterDevice makes from its
/// seed.
class Swarm {
 public:
  /// Connects them, one after the other. Throws std::runtime_error when one is refused.
  Swarm(std::uint16_t port, int clients, int threads);
  ~Swarm();
  Swarm(const Swarm&) = delete;
  Swarm& operator=(const Swarm&) = delete;

  /// Makes every client ask for this many tokens. Call it only while no client receives an answer.
  void ask(int tokens);
  /// With `raw`, the next events come from a raw_sender: with sequence numbers, without letters.
  void expect_raw(bool raw) noexcept { raw_ = raw; }
  /// With `keep`, records the times between two events of a client from now on. Returns the times
  /// recorded so far.
  std::vector<double> take_gaps(bool keep);

  struct Counts {
    std::int64_t frames = 0;  ///< events with text
    std::int64_t tokens = 0;
    std::int64_t bytes = 0;  ///< bytes of all events
    std::int64_t begun = 0;  ///< answers that had a token
    std::int64_t ended = 0;  ///< answers that ended with all their tokens
    std::int64_t wrong = 0;
  };
  [[nodiscard]] Counts counts() const noexcept;
  /// Returns the first error; empty: there was none.
  [[nodiscard]] std::string complaint() const;
  /// Returns one delta event as it was received.
  [[nodiscard]] std::string sample() const;
  [[nodiscard]] std::size_t size() const noexcept { return clients_.size(); }

 private:
  using Clock = std::chrono::steady_clock;

  /// A client. After the constructor it belongs to one thread.
  struct Client {
    int fd = -1;
    std::uint64_t seed = 0;
    std::int64_t number = 0;  ///< sequence number of the next event
    std::int64_t tokens = 0;
    std::string unread{};
    Clock::time_point last{};
  };
  struct alignas(64) Loop {
    int epoll = -1;
    std::atomic<std::int64_t> frames{0}, tokens{0}, bytes{0}, begun{0}, ended{0}, wrong{0};
    std::mutex mutex{};
    std::vector<double> gaps{};
    std::string complaint{};
    std::string sample{};
    std::jthread thread{};
  };

  void run(Loop& loop, const std::stop_token& stop);
  void hear(Loop& loop, Client& client, std::string_view bytes);
  [[nodiscard]] std::size_t take_frames(Loop& loop, Client& client, std::string_view bytes);
  void on_event(Loop& loop, Client& client, std::string_view event);
  void on_delta(Loop& loop, Client& client, std::string_view event);
  static void complain(Loop& loop, const Client& client, std::string_view what,
                       std::string_view event);

  std::vector<Client> clients_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::atomic<std::int64_t> asked_{0};
  std::atomic<bool> raw_{false};
  std::atomic<bool> keep_gaps_{false};
};

}  // namespace weft::bench
