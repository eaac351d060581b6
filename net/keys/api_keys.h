#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/request_class.h"
#include "weft/net/api/fields/api_error.h"

namespace weft {

/// The rights and limits of one key's holder.
struct KeyLimits {
  RequestClass class_ceiling = RequestClass::kChat;  ///< the most urgent class that requests may
                                                     ///< have
  std::int32_t max_concurrent = 0;                   ///< requests at once; 0 = any number
  std::int64_t tokens_per_minute = 0;                ///< tokens of prompts and outputs; 0 = any
                                                     ///< number
  bool admin = false;                                ///< may load and unload models
};

/// The holder of a key, with its running requests and its allowance of tokens. Thread-safe.
class KeyHolder {
 public:
  using Time = std::chrono::steady_clock::time_point;

  KeyHolder(std::string name, KeyLimits limits);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const KeyLimits& limits() const noexcept { return limits_; }

  /// Checks the limits like begin(), but counts no request. It lets the server refuse a request
  /// that cannot begin before its body is decoded.
  [[nodiscard]] ApiResult<void> check(Time now);
  /// Begins a request. When the limits do not allow it, returns 429 with the time to try again.
  [[nodiscard]] ApiResult<void> begin(Time now);
  void end() noexcept { running_.fetch_sub(1); }
  /// Subtracts a request's tokens from the minute's allowance. The allowance may become negative,
  /// because a request's output is not known when it begins.
  void charge(std::int64_t tokens, Time now);

 private:
  void refill(Time now);  // called under mutex_
  [[nodiscard]] ApiResult<void> check_allowance(Time now);
  [[nodiscard]] ApiResult<void> check_running(std::int32_t running) const;

  const std::string name_;
  const KeyLimits limits_;
  std::atomic<std::int32_t> running_{0};
  std::mutex mutex_;
  double allowance_ = 0;  // in tokens; fills up to tokens_per_minute within a minute
  Time filled_{};
};

/// Returns the tokens that an invalid request costs its key, given the request's estimated
/// `tokens`. It is 0 up to net_defaults::kFreeRefusal, and never more than the model's context.
[[nodiscard]] std::int64_t refusal_cost(std::int64_t tokens, std::int64_t context) noexcept;

/// Returns the owner of a request's responses: the key's name. Without keys all responses have one
/// owner.
[[nodiscard]] inline std::string_view owner_of(const std::shared_ptr<KeyHolder>& key) noexcept {
  return key != nullptr ? std::string_view(key->name()) : std::string_view();
}

/// The right to run one request, returned by the destructor. Empty where there are no keys.
class KeyLease {
 public:
  KeyLease() noexcept = default;
  explicit KeyLease(std::shared_ptr<KeyHolder> holder) noexcept : holder_(std::move(holder)) {}
  KeyLease(KeyLease&& other) noexcept = default;
  KeyLease& operator=(KeyLease&& other) noexcept {
    KeyLease old(std::move(*this));
    holder_ = std::move(other.holder_);
    return *this;
  }
  ~KeyLease() {
    if (holder_) holder_->end();
  }

 private:
  std::shared_ptr<KeyHolder> holder_;
};

/// The keys of the server's clients. Keys are stored as SHA-256 hashes, and a presented key is
/// compared with all of them in constant time, so neither timing nor memory reveals a key.
/// Immutable except for the state of the holders.
class ApiKeys {
 public:
  /// Without keys, any client may use the server.
  ApiKeys() = default;
  /// Loads the keys. `key` is one key without limits; "" = none. `file` is a TOML file of [[key]]
  /// tables with `name`, `key` or `sha256` (hex), and optionally `class` ("chat", "batch"),
  /// `max_concurrent`, `tokens_per_minute` and `admin`; "" = none. Names tell clients apart, so
  /// they must differ; `key` has the name "key". kBadToml or kBadConfig with file, line and key.
  [[nodiscard]] static Result<ApiKeys> load(std::string_view key, const std::string& file);

  [[nodiscard]] bool required() const noexcept { return !keys_.empty(); }
  /// Returns the holder of a presented key; null when there is no such key.
  [[nodiscard]] std::shared_ptr<KeyHolder> find(std::string_view presented) const noexcept;

 private:
  using Hash = std::array<unsigned char, 32>;
  struct Entry {
    Hash hash;
    std::shared_ptr<KeyHolder> holder;
  };
  static Hash hash_of(std::string_view key) noexcept;
  std::vector<Entry> keys_;
};

}  // namespace weft
