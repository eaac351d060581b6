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

/// The properties of a fake model that determine its outputs.
struct FakeModel {
  std::uint64_t weights = 0;
  std::int64_t context = 0;
  std::int64_t window = 0;  ///< of all layers; 0: none
  bool encoder = false;     ///< which reads the prompt
  bool state = false;       ///< of rows, on which its tokens depend
};

/// A request of a simulation, and all that has come of it.
class SimulatedRequest final : public RequestSink {
 public:
  /// The token that ends an output.
  static constexpr TokenId kEnd = 7;
  /// The token that a decoder behind an encoder begins with.
  static constexpr TokenId kStart = 3;

  struct Choice {
    std::string text;
    std::vector<TokenId> tokens;
  };

  /// `its_adapter` is the content of its adapter; 0: it has none.
  explicit SimulatedRequest(Request what, std::uint64_t its_adapter = 0);

  void deliver(const DeltaView& delta) noexcept override;
  void finish(Finish&& finish) noexcept override;

  [[nodiscard]] const std::optional<Finish>& end() const { return finish_; }
  /// Whether it has come to an end of its own, so that nothing of its outputs is missing.
  [[nodiscard]] bool is_whole() const;
  /// Compares its outputs with what the model gives a request that is alone; a beam search's are
  /// not looked at.
  void check_outputs(const FakeModel& model) const;

  const Request request;
  const std::uint64_t adapter;
  std::vector<Choice> choices;
  std::shared_ptr<ActiveRequest> active;  ///< each keeps the other
  EndCause asked = EndCause::kNone;

 private:
  std::optional<Finish> finish_;
};

}  // namespace weft::test
