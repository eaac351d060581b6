#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace weft::cli {

/// Decides when one request is asked again: any number of times while it is refused for now, a few
/// times when it fails. Owner only; it knows no clock.
class Retry {
 public:
  using Pause = std::chrono::milliseconds;

  enum class Cause : std::uint8_t {
    kRefused,  ///< the server is full, or not ready yet
    kFailed,   ///< the request failed, or the server hung up or was not reached
  };

  /// The number of times that a request may fail. With the pauses the tries take a minute, in which
  /// a server can be restarted.
  static constexpr int kTries = 10;
  /// The pause before the second try; it doubles with each further one. Within this time a busy
  /// server usually frees a row.
  static constexpr Pause kFirstPause{250};

  explicit Retry(Pause first_pause = kFirstPause) : next_(first_pause) {}

  /// Returns how long to wait before the request is asked again; nothing when it has failed kTries
  /// times.
  [[nodiscard]] std::optional<Pause> after(Cause cause, Pause at_least = Pause(0));

 private:
  Pause next_;
  int failures_ = 0;
};

}  // namespace weft::cli
