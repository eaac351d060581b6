#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/actors/engine_error.h"
#include "weft/actors/request/active_request.h"

namespace weft::test {

/// The seed of a request's choice of this number.
[[nodiscard]] std::uint64_t seed_of_choice(const Request& request, std::size_t choice);

/// A request of a simulation, and all that has come of it.
class SimulatedRequest final : public RequestSink {
 public:
  /// The token that ends an output.
  static constexpr TokenId kEnd = 7;

  struct Choice {
    std::string text;
    std::vector<TokenId> tokens;
  };

  explicit SimulatedRequest(Request what);

  void deliver(const DeltaView& delta) noexcept override;
  void finish(Finish&& finish) noexcept override;

  [[nodiscard]] const std::optional<Finish>& end() const { return finish_; }
  /// Whether it has come to an end of its own, so that nothing of its outputs is missing.
  [[nodiscard]] bool is_whole() const;
  /// Compares its outputs with what the fake model of these weights gives a request that is alone;
  /// a beam search's are not looked at.
  void check_outputs(std::uint64_t weights, std::int64_t context) const;

  const Request request;
  std::vector<Choice> choices;
  std::shared_ptr<ActiveRequest> active;  ///< each keeps the other
  EndCause asked = EndCause::kNone;

 private:
  std::optional<Finish> finish_;
};

}  // namespace weft::test
