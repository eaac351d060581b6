#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "weft/cli/chat/answer_inbox.h"
#include "weft/cli/chat/chat_backend.h"
#include "weft/cli/chat/prompt_batch.h"
#include "weft/cli/retry.h"

namespace weft::cli {

/// Batches that run behind a conversation: their next prompts, their news and their results.
/// Batches are asked in their order. A prompt that was refused for now or has failed is asked
/// again, as Retry says. Owner only; it knows no clock.
class ChatBatches {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The most prompts under way at once: servers allow 16 streams for a connection, and the
  /// conversation has one of them. The bound shrinks where the server refuses so many.
  static constexpr std::size_t kStreams = 12;
  /// The most batches that are not finished and shown. A person loses track long before.
  static constexpr std::size_t kMaxBatches = 256;

  struct Item {
    BatchPrompt prompt{};
    std::string text{};
    std::optional<AnswerEnd> end{};
    Retry retry{};
    bool cancelled = false;
  };
  struct Batch {
    std::int64_t number = 0;
    std::vector<Item> items{};
    std::string waits_for{};  ///< why a prompt was asked again; empty once another prompt has ended

    [[nodiscard]] std::size_t ended() const noexcept;
    [[nodiscard]] bool finished() const noexcept { return ended() == items.size(); }
  };
  /// The next request to ask.
  struct Next {
    std::string id{};
    const BatchPrompt* prompt = nullptr;  ///< valid until the next call
  };

  /// Adds a batch and returns its number, from 1; nothing when there are kMaxBatches.
  [[nodiscard]] std::optional<std::int64_t> add(std::vector<BatchPrompt> prompts);
  /// Returns the next prompt to ask; nothing when as many prompts are under way as may be, none
  /// waits, or the pause is not over.
  [[nodiscard]] std::optional<Next> next(Time now);
  /// When next() should be called although nothing has happened.
  [[nodiscard]] std::optional<Time> due() const noexcept;
  /// Takes news of an answer. Returns false when it belongs to no batch.
  bool on_news(AnswerNews news, Time now);
  /// Ends the batch's prompts that wait, and returns the answers under way, which have to be
  /// cancelled. Returns nothing when there is no such batch, or it is finished.
  [[nodiscard]] std::optional<std::vector<std::string>> cancel(std::int64_t number);
  /// Returns the first finished batch, which is then no longer kept.
  [[nodiscard]] std::optional<Batch> take_finished();

  [[nodiscard]] const std::deque<Batch>& all() const noexcept { return batches_; }
  [[nodiscard]] bool idle() const noexcept;

 private:
  struct Place {
    std::int64_t batch;
    std::size_t item;
    bool operator==(const Place&) const = default;
  };
  [[nodiscard]] Batch* find(std::int64_t number) noexcept;
  [[nodiscard]] static std::optional<Place> place_of(const std::string& id);
  [[nodiscard]] static std::string id_of(const Place& place);
  void wait(Retry::Pause pause, Time now);

  std::deque<Batch> batches_;
  std::deque<Place> waiting_;
  std::size_t running_ = 0;
  std::size_t streams_ = kStreams;
  std::int64_t last_number_ = 0;
  std::optional<Time> paused_until_;
};

/// Writes a batch for people: each prompt in a line of its own, its answer below.
[[nodiscard]] std::string shown(const ChatBatches::Batch& batch);

}  // namespace weft::cli
