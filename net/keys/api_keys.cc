#include "weft/net/keys/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>

#include "weft/config/config_error.h"
#include "weft/net/defaults.h"
#include "weft/net/keys/api_key_file.h"

namespace weft {

using std::chrono::ceil;
using std::chrono::duration;
using std::chrono::milliseconds;

namespace {

constexpr std::string_view kPlainKeyName = "key";

ApiError limit_reached(std::string message, milliseconds later) {
  return {.status = 429,
          .type = "rate_limit_error",
          .code = "rate_limit_exceeded",
          .message = std::move(message),
          .retry_after = later};
}

}  // namespace

KeyHolder::KeyHolder(std::string name, KeyLimits limits)
    : name_(std::move(name)),
      limits_(limits),
      allowance_(static_cast<double>(limits.tokens_per_minute)) {}

void KeyHolder::refill(Time now) {
  const double most = static_cast<double>(limits_.tokens_per_minute);
  if (filled_ != Time{}) {
    allowance_ += most / 60 * duration<double>(now - filled_).count();
  }
  allowance_ = std::min(allowance_, most);
  filled_ = now;
}

ApiResult<void> KeyHolder::check_allowance(Time now) {
  if (limits_.tokens_per_minute <= 0) return {};
  const std::scoped_lock lock(mutex_);
  refill(now);
  if (allowance_ > 0) return {};
  const double rate = static_cast<double>(limits_.tokens_per_minute) / 60;
  return limit_reached(
      "this key may use " + std::to_string(limits_.tokens_per_minute) + " tokens a minute",
      ceil<milliseconds>(duration<double>((1 - allowance_) / rate)));
}

ApiResult<void> KeyHolder::check_running(std::int32_t running) const {
  if (limits_.max_concurrent == 0 || running < limits_.max_concurrent) return {};
  return limit_reached(
      "this key may have " + std::to_string(limits_.max_concurrent) + " requests under way at once",
      milliseconds(1000));
}

ApiResult<void> KeyHolder::check(Time now) {
  if (auto allowed = check_allowance(now); !allowed) return allowed;
  return check_running(running_.load());
}

ApiResult<void> KeyHolder::begin(Time now) {
  if (auto allowed = check_allowance(now); !allowed) return allowed;
  auto may_run = check_running(running_.fetch_add(1));
  if (!may_run) running_.fetch_sub(1);
  return may_run;
}

void KeyHolder::charge(std::int64_t tokens, Time now) {
  if (limits_.tokens_per_minute <= 0) return;
  const std::scoped_lock lock(mutex_);
  refill(now);
  allowance_ -= static_cast<double>(tokens);
}

std::int64_t refusal_cost(std::int64_t tokens, std::int64_t context) noexcept {
  return tokens <= net_defaults::kFreeRefusal ? 0 : std::min(tokens, context);
}

ApiKeys::Hash ApiKeys::hash_of(std::string_view key) noexcept {
  Hash hash{};
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), hash.data());
  return hash;
}

Result<ApiKeys> ApiKeys::load(std::string_view key, const std::string& file) {
  ApiKeys keys;
  if (!key.empty()) {
    keys.keys_.push_back(
        {hash_of(key), std::make_shared<KeyHolder>(std::string(kPlainKeyName), KeyLimits{})});
  }
  if (file.empty()) return keys;
  auto entries = read_key_file(file);
  if (!entries) return std::move(entries).error();
  for (KeyFileEntry& entry : *entries) {
    if (!key.empty() && entry.name == kPlainKeyName) {
      return Error{ConfigErrc::kBadConfig,
                   file + ": name: \"" + entry.name +
                       "\" is that of server.api_key, and names tell keys apart"};
    }
    const Hash hash = entry.sha256 ? *entry.sha256 : hash_of(entry.key);
    keys.keys_.push_back({hash, std::make_shared<KeyHolder>(std::move(entry.name), entry.limits)});
  }
  return keys;
}

std::shared_ptr<KeyHolder> ApiKeys::find(std::string_view presented) const noexcept {
  const Hash hash = hash_of(presented);
  const Entry* found = nullptr;
  for (const Entry& entry : keys_) {
    // The loop compares with all keys, even after a match, so that its time is constant.
    if (CRYPTO_memcmp(hash.data(), entry.hash.data(), hash.size()) == 0) found = &entry;
  }
  return found != nullptr ? found->holder : nullptr;
}

}  // namespace weft
