#pragma once

#include <array>
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "weft/config/server_config.h"
#include "weft/core/metrics.h"
#include "weft/net/api/fields/api_error.h"

namespace weft {

class AddressPlace;

/// The limits of the clients of one address: connections at once, and requests a second. An IPv6
/// address counts by its first 64 bits, because one network gets all addresses with them. The
/// object remembers each address while it has a connection, and for a second afterwards. It
/// remembers at most net_defaults::kMaxLeftAddresses addresses without a connection. Thread-safe.
class AddressLimits {
 public:
  using Time = std::chrono::steady_clock::time_point;

  AddressLimits(const ServerConfig& config, MetricsRegistry& metrics);
  AddressLimits(const AddressLimits&) = delete;
  AddressLimits& operator=(const AddressLimits&) = delete;

  /// Whether anything is limited; otherwise enter() is unnecessary.
  [[nodiscard]] bool any() const noexcept { return connections_ > 0 || requests_ > 0; }
  /// Counts a connection as long as the returned place exists; null when the address may not have
  /// another connection. The limits must outlive the place.
  [[nodiscard]] std::shared_ptr<AddressPlace> enter(const boost::asio::ip::address& address,
                                                    Time now);
  /// Returns the number of remembered addresses.
  [[nodiscard]] std::size_t known() const;

 private:
  friend class AddressPlace;
  using Key = std::array<unsigned char, 16>;
  struct Entry {
    std::int32_t connections = 0;
    double allowance = 0;  // requests; fills up to the requests of a second
    Time filled{};
  };
  static Key key_of(const boost::asio::ip::address& address);
  static Counter& counter(MetricsRegistry& metrics, const char* limit);

  void refill(Entry& entry, Time now) const;
  [[nodiscard]] std::optional<ApiError> take_request(const Key& key, Time now);
  void leave(const Key& key, Time now) noexcept;
  void forget(Time now);

  const std::int32_t connections_;
  const std::int32_t requests_;  // requests a second
  Counter& refused_connections_;
  Counter& refused_requests_;
  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
  std::deque<std::pair<Key, Time>> left_;  // addresses without a connection, in the order in which
                                           // they left
};

/// The place of one connection among those of its address. Thread-safe.
class AddressPlace {
 public:
  AddressPlace(AddressLimits& limits, const AddressLimits::Key& key) : limits_(limits), key_(key) {}
  AddressPlace(const AddressPlace&) = delete;
  AddressPlace& operator=(const AddressPlace&) = delete;
  ~AddressPlace() { limits_.leave(key_, AddressLimits::Time::clock::now()); }

  /// Counts a request; 429, with when to try again, when the address has had too many.
  [[nodiscard]] std::optional<ApiError> take_request(AddressLimits::Time now) {
    return limits_.take_request(key_, now);
  }

 private:
  AddressLimits& limits_;
  const AddressLimits::Key key_;
};

}  // namespace weft
