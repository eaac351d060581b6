#pragma once

#include <boost/json/array.hpp>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "weft/net/api/tools/tool_origin.h"

namespace weft {

/// A response that can be fetched and continued. Immutable once it is in a store.
struct StoredResponse {
  std::string id{};
  std::string owner{};                ///< the client that owns the response; no other client finds
                                      ///< it
  std::string object{};               ///< the response object, as JSON
  boost::json::array conversation{};  ///< its messages; the last is the answer, if there is one
  std::size_t conversation_bytes =
      0;  ///< conversation_bytes() of the messages; set by the caller of put()
  std::shared_ptr<const ToolOrigins>
      tools{};            ///< the client's names of functions; null: the model's names
  bool answered = false;  ///< whether there is an answer
  bool whole = true;      ///< whether it can be continued: it has ended, and has not failed
  std::size_t bytes = 0;  ///< its approximate size; put() computes it

  StoredResponse() = default;
};

/// Returns about how many bytes the messages take in memory. It visits all of their values, which
/// takes milliseconds for thousands of messages: not for an I/O thread.
[[nodiscard]] std::size_t conversation_bytes(const boost::json::array& messages);

/// Stores responses by id, bounded by their count and bytes: a new response evicts the least
/// recently used one. Thread-safe; the lock is held for a lookup, never while JSON is made.
class ResponseStore {
 public:
  struct Bounds {
    std::size_t count;
    std::size_t bytes;
  };
  /// Frees a large response that the store no longer keeps, on a thread that may take its time.
  using Discard = std::function<void(std::shared_ptr<const StoredResponse>)>;

  /// Without `discard`, the thread that evicts a response frees it.
  explicit ResponseStore(Bounds bounds, Discard discard = {}) noexcept
      : bounds_(bounds), discard_(std::move(discard)) {}

  /// Stores a response in place of one with the same id. A response that is larger than the bound
  /// is not stored.
  void put(StoredResponse response);
  /// Whether put() would store it.
  [[nodiscard]] bool fits(const StoredResponse& response) const;
  /// Returns the response. Null when it is not stored any more, or belongs to another owner.
  [[nodiscard]] std::shared_ptr<const StoredResponse> find(std::string_view id,
                                                           std::string_view owner);
  /// Removes a response of this owner; returns whether there was one.
  bool erase(std::string_view id, std::string_view owner);

  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  using Uses = std::list<std::shared_ptr<const StoredResponse>>;  // the most recently used first
  /// Finds the owner's response; returns end() when there is none. Called under mutex_.
  [[nodiscard]] Uses::iterator place_of(std::string_view id, std::string_view owner);
  /// Moves an entry to `dropped`, to be freed without the lock. Called under mutex_.
  void drop(Uses::iterator entry, Uses& dropped);
  /// Adds an entry, and moves those that it evicts to `dropped`.
  void add(std::shared_ptr<const StoredResponse> entry, Uses& dropped);
  /// Called without the lock.
  void discard(Uses dropped) const;

  const Bounds bounds_;
  const Discard discard_;
  mutable std::mutex mutex_;
  Uses uses_;
  std::unordered_map<std::string_view, Uses::iterator> by_id_;  // the keys are the entries' ids
  std::size_t bytes_ = 0;
};

}  // namespace weft
