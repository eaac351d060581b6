#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <utility>

namespace weft {

/// The way in which loading a model reports its progress and is stopped.
struct LoadProgress {
  /// Called with the loaded bytes and all bytes of the weights, by one thread at a time. An
  /// exception that it throws ends the loading.
  using Tell = std::function<void(std::int64_t done, std::int64_t total)>;

  LoadProgress() = default;
  /// Converts from a lambda, if there is nothing but a Tell.
  template <class What>
    requires(!std::same_as<What, LoadProgress> && std::convertible_to<What, Tell>)
  // NOLINTNEXTLINE(google-explicit-constructor): it stands where a function does
  LoadProgress(What what, std::stop_token asked = {})
      : tell(std::move(what)), stop(std::move(asked)) {}

  Tell tell{};  ///< may be null
  /// Ends the loading before the next piece of a matrix, some MiB.
  std::stop_token stop{};

  /// Calls `tell`, and then throws as throw_if_stopped().
  void operator()(std::int64_t done, std::int64_t total) const;
};

/// Throws boost::system::system_error with operation_aborted once a stop is requested. Loading ends
/// by exceptions, so that memory and files are freed on the way.
void throw_if_stopped(const std::stop_token& stop);

}  // namespace weft
