#include "weft/net/service/address_limits.h"

#include <algorithm>
#include <exception>
#include <string>

#include "weft/net/defaults.h"

namespace weft {

using std::chrono::ceil;
using std::chrono::duration;
using std::chrono::milliseconds;

AddressLimits::AddressLimits(const ServerConfig& config, MetricsRegistry& metrics)
    : connections_(config.max_connections_per_address),
      requests_(config.max_requests_per_second_per_address),
      refused_connections_(counter(metrics, "max_connections_per_address")),
      refused_requests_(counter(metrics, "max_requests_per_second_per_address")) {}

Counter& AddressLimits::counter(MetricsRegistry& metrics, const char* limit) {
  return metrics.counter("weft_address_refusals_total",
                         "Connections and requests that were refused for their address' sake",
                         {{"limit", limit}});
}

AddressLimits::Key AddressLimits::key_of(const boost::asio::ip::address& address) {
  namespace ip = boost::asio::ip;
  if (address.is_v4()) return ip::make_address_v6(ip::v4_mapped, address.to_v4()).to_bytes();
  Key key = address.to_v6().to_bytes();
  if (!address.to_v6().is_v4_mapped()) std::fill(key.begin() + 8, key.end(), 0);
  return key;
}

void AddressLimits::refill(Entry& entry, Time now) const {
  if (now <= entry.filled) return;  // another thread read its clock a moment later
  const auto most = static_cast<double>(requests_);
  entry.allowance += most * duration<double>(now - entry.filled).count();
  entry.allowance = std::min(entry.allowance, most);
  entry.filled = now;
}

std::shared_ptr<AddressPlace> AddressLimits::enter(const boost::asio::ip::address& address,
                                                   Time now) {
  const Key key = key_of(address);
  {
    const std::scoped_lock lock(mutex_);
    forget(now);
    const Entry fresh{.allowance = static_cast<double>(requests_), .filled = now};
    Entry& entry = entries_.try_emplace(key, fresh).first->second;
    if (connections_ > 0 && entry.connections >= connections_) {
      refused_connections_.add();
      return nullptr;
    }
    ++entry.connections;
  }
  try {
    return std::make_shared<AddressPlace>(*this, key);
  } catch (const std::exception&) {
    leave(key, now);
    throw;
  }
}

std::optional<ApiError> AddressLimits::take_request(const Key& key, Time now) {
  if (requests_ == 0) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_.at(key);
  refill(entry, now);
  if (entry.allowance >= 1) {
    entry.allowance -= 1;
    return std::nullopt;
  }
  refused_requests_.add();
  return ApiError{
      .status = 429,
      .type = "rate_limit_error",
      .code = "rate_limit_exceeded",
      .message = "an address may send " + std::to_string(requests_) + " requests a second",
      .retry_after = ceil<milliseconds>(duration<double>((1 - entry.allowance) / requests_))};
}

void AddressLimits::leave(const Key& key, Time now) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto at = entries_.find(key);
  if (--at->second.connections > 0) return;
  refill(at->second, now);
  try {
    if (at->second.allowance < requests_) left_.emplace_back(key, at->second.filled);
  } catch (const std::exception&) {
    at->second.allowance = requests_;  // without memory for the entry, the address is not
                                       // remembered
  }
  if (at->second.allowance >= requests_) entries_.erase(at);
  forget(now);
}

/// A second after an address has left, its allowance is full again, like that of an unknown
/// address.
void AddressLimits::forget(Time now) {
  while (!left_.empty()) {
    const auto& [key, since] = left_.front();
    const bool too_many = left_.size() > net_defaults::kMaxLeftAddresses;
    if (!too_many && now - since < std::chrono::seconds(1)) return;
    const auto at = entries_.find(key);
    if (at != entries_.end() && at->second.connections == 0) {
      refill(at->second, now);
      if (too_many || at->second.allowance >= requests_) entries_.erase(at);
    }
    left_.pop_front();
  }
}

std::size_t AddressLimits::known() const {
  const std::scoped_lock lock(mutex_);
  return entries_.size();
}

}  // namespace weft
