#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/net/service/answer.h"

namespace weft {

/// The answers that are under way, for /requests and for cancelling an answer by its id. The
/// engine's bounds limit their number. Thread-safe; locked when an answer begins and ends, never
/// for its output.
class RunningAnswers {
 public:
  struct Entry {
    std::string object_id{};
    std::string request_id{};
    std::string path{};
    std::string key{};  ///< the name of the key's holder, which owns the answer
    std::string request_class{};
    std::chrono::steady_clock::time_point began{};
    std::shared_ptr<Answer> answer{};
  };

  /// Removes the answer from the list when it is destroyed.
  class Place {
   public:
    Place() noexcept = default;
    Place(RunningAnswers& answers, std::string id) noexcept
        : answers_(&answers), id_(std::move(id)) {}
    Place(Place&& other) noexcept
        : answers_(std::exchange(other.answers_, nullptr)), id_(std::move(other.id_)) {}
    Place& operator=(Place&& other) noexcept {
      Place old(std::move(*this));
      answers_ = std::exchange(other.answers_, nullptr);
      id_ = std::move(other.id_);
      return *this;
    }
    ~Place() {
      if (answers_ != nullptr) answers_->remove(id_);
    }

   private:
    RunningAnswers* answers_ = nullptr;
    std::string id_;
  };

  [[nodiscard]] Place add(Entry entry);
  /// Asks the answer to end, and calls `ended` once it has been removed. Returns false, without a
  /// call, when this key has no answer with this id.
  bool cancel(std::string_view object_id, std::string_view key, std::function<void()> ended);
  [[nodiscard]] std::vector<Entry> list() const;
  [[nodiscard]] std::size_t count() const;

 private:
  struct Slot {
    Entry entry;
    std::vector<std::function<void()>> on_end;
  };
  void remove(const std::string& id) noexcept;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Slot> slots_;
};

}  // namespace weft
