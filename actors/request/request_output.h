#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/request/choice_buffer.h"
#include "weft/actors/request/generation_result.h"
#include "weft/actors/request/request.h"

namespace weft {

/// A request's whole output, passed from the delivering thread to the reading thread without
/// locks or waiting. Sinks own it. Loads and stores of its flags are sequentially consistent: of
/// two threads that each set a flag and then read the other's, at least one sees the other's
/// flag.
class RequestOutput {
 public:
  /// Throws std::bad_alloc. `choices` and the request's max_tokens must be within
  /// stream_defaults.h.
  RequestOutput(const Request& request, std::int32_t choices);

  // For the delivering thread:
  /// Called before admit().
  void let_pass(std::shared_ptr<const std::vector<std::string>> not_enforced) noexcept {
    not_enforced_ = std::move(not_enforced);
    knows_not_enforced_.store(true);
  }
  void admit(std::int32_t prompt_tokens) noexcept {
    prompt_tokens_.store(prompt_tokens);
    admitted_.store(true);
  }
  /// Returns false if the delta could not be kept: the request has failed and must be ended.
  [[nodiscard]] bool deliver(const DeltaView& delta) noexcept;
  /// Publishes the end, after all deliveries.
  void finish(Finish&& finish) noexcept;

  // The functions below are thread-safe.
  [[nodiscard]] bool admitted() const noexcept { return admitted_.load(); }
  /// The prompt tokens of an admitted request; 0 before.
  [[nodiscard]] std::int32_t prompt_tokens() const noexcept { return prompt_tokens_.load(); }
  [[nodiscard]] bool finished() const noexcept { return finished_.load(); }
  /// The places of RequestSink::let_pass(); complete once the request is admitted or finished.
  [[nodiscard]] std::vector<std::string> not_enforced() const {
    return knows_not_enforced_.load() && not_enforced_ ? *not_enforced_
                                                       : std::vector<std::string>();
  }
  [[nodiscard]] bool has_unread() const noexcept;
  [[nodiscard]] std::size_t unread_bytes() const noexcept;
  /// The number of tokens so far, of all outputs.
  [[nodiscard]] std::size_t tokens() const noexcept;
  /// How the request ended; valid once finished(), and constant from then on.
  [[nodiscard]] const Finish& end() const noexcept { return finish_; }

  // The functions below are for the reader.
  [[nodiscard]] std::size_t choices() const noexcept { return choices_.size(); }
  [[nodiscard]] bool unread(std::size_t choice) const noexcept {
    return choices_[choice]->unread();
  }
  /// Appends one output's unread part to `delta`. Throws std::bad_alloc without losing output.
  void take(std::size_t choice, Delta& delta) { choices_[choice]->take(delta); }
  /// Copies all of one output. Throws std::bad_alloc.
  void copy_all(std::size_t choice, GeneratedChoice& out) const { choices_[choice]->copy_all(out); }

 private:
  std::vector<std::unique_ptr<ChoiceBuffer>> choices_;
  std::atomic<bool> lost_{false};  // a delta could not be kept, so later ones are dropped
  Finish finish_;
  std::shared_ptr<const std::vector<std::string>> not_enforced_;
  std::atomic<bool> knows_not_enforced_{false};
  std::atomic<std::int32_t> prompt_tokens_{0};
  std::atomic<bool> admitted_{false};
  std::atomic<bool> finished_{false};
};

}  // namespace weft
