#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/actors/request/choice_buffer.h"
#include "weft/actors/request/generation_result.h"
#include "weft/actors/request/request.h"

namespace weft {

/// All that a request has produced, between the one who delivers and one who reads, without a lock
/// or a wait on either side. What a sink keeps. Loads and stores of its flags are sequentially
/// consistent, so that one of two who each set something and then look at the other's sees it.
class RequestOutput {
 public:
  /// Throws std::bad_alloc. `choices` and the request's max_tokens are within stream_defaults.h.
  RequestOutput(const Request& request, std::int32_t choices);

  // By the one who delivers.
  void admit(std::int32_t prompt_tokens) noexcept {
    prompt_tokens_.store(prompt_tokens);
    admitted_.store(true);
  }
  /// False when it could not be kept: the request has failed then and is to be ended.
  [[nodiscard]] bool deliver(const DeltaView& delta) noexcept;
  void finish(Finish&& finish) noexcept;

  // By anyone.
  [[nodiscard]] bool admitted() const noexcept { return admitted_.load(); }
  /// Of the request that was admitted; 0 before.
  [[nodiscard]] std::int32_t prompt_tokens() const noexcept { return prompt_tokens_.load(); }
  [[nodiscard]] bool finished() const noexcept { return finished_.load(); }
  [[nodiscard]] bool has_unread() const noexcept;
  [[nodiscard]] std::size_t unread_bytes() const noexcept;
  /// That have come, of all outputs.
  [[nodiscard]] std::size_t tokens() const noexcept;
  /// Once finished(); constant from then on.
  [[nodiscard]] const Finish& end() const noexcept { return finish_; }

  // By the reader.
  [[nodiscard]] std::size_t choices() const noexcept { return choices_.size(); }
  [[nodiscard]] bool unread(std::size_t choice) const noexcept {
    return choices_[choice]->unread();
  }
  /// All that is new of one output, put behind what `delta` has. Throws std::bad_alloc, and nothing
  /// is lost.
  void take(std::size_t choice, Delta& delta) { choices_[choice]->take(delta); }
  /// All there is. Throws std::bad_alloc.
  void copy_all(std::size_t choice, GeneratedChoice& out) const { choices_[choice]->copy_all(out); }

 private:
  std::vector<std::unique_ptr<ChoiceBuffer>> choices_;
  std::atomic<bool> lost_{false};  // something could not be kept, so nothing after it is
  Finish finish_;
  std::atomic<std::int32_t> prompt_tokens_{0};
  std::atomic<bool> admitted_{false};
  std::atomic<bool> finished_{false};
};

}  // namespace weft
