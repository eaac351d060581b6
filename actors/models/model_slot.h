#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/models/model_host.h"
#include "weft/actors/models/turn_order.h"
#include "weft/core/gate.h"
#include "weft/core/request_class.h"
#include "weft/core/time/clock.h"

namespace weft {

/// Those who wait for one model to be loaded or unloaded. More are refused as overloaded: what they
/// wait for is the same.
inline constexpr std::size_t kMaxModelWaiters = 64;

/// How long a model that somebody waited for stays for his request, which comes after he has heard
/// of it: more than that takes, if it comes at all.
inline constexpr Duration kFirstUse = std::chrono::seconds(2);

/// A model in memory. Its requests hold the gate; its pipeline goes before that.
struct ModelHost::Running {
  Gate gate;
  std::shared_ptr<ModelUse> use;
  std::unique_ptr<RequestPort> port;
};

/// One of the host's models. `state` says which of the others are there: `running` while it is
/// loaded or unloading, `waiting` and `told` while it is not loaded yet.
struct ModelHost::Slot {
  explicit Slot(ModelConfig what) : config(std::move(what)) {}

  const ModelConfig config;
  ModelState state = ModelState::kUnloaded;
  Error failure{};
  std::int64_t created = 0;
  std::unique_ptr<Running> running{};
  bool leaving = false;  ///< `running` is being destroyed, by unload() or for another model
  /// A request for it to be loaded. There are as many as its pipeline would take.
  struct Waiting {
    RequestTicket ticket;
    std::int64_t prompt_tokens;  ///< by estimate
  };
  std::vector<Waiting> waiting{};
  std::vector<ModelDone> told{};  ///< when it is loaded, or unloaded
  std::uint64_t used = 0;         ///< the number of its latest use
  /// It does not leave for another model before as many requests have come, or until then.
  std::size_t expected = 0;
  TimePoint expected_until{};

  [[nodiscard]] bool in_memory() const noexcept { return running != nullptr || leaving; }
};

/// What a request holds of its model from its submission to its end.
struct ModelHost::Hold {
  Hold(Gate::Holder gate, std::shared_ptr<ModelUse> model, RequestClass what)
      : use(std::move(model)), cls(what), holder(std::move(gate)) {
    use->of(cls).fetch_add(1);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { use->of(cls).fetch_sub(1); }

  const std::shared_ptr<ModelUse> use;
  const RequestClass cls;
  const Gate::Holder holder;
};

/// A state that a model is to have, and the list that shows it. It is made first: whatever needs
/// memory then fails before anything has changed.
struct ModelHost::NextState {
  ModelState state;
  Error failure;  ///< with kFailed
  std::shared_ptr<const ModelList> list;
};

/// Whether there is room for one model more, and which one leaves for it, if one has to.
struct ModelHost::Room {
  bool found = false;
  bool later = false;  ///< not found, but perhaps soon: requests are expected for some model
  std::unique_ptr<Running> leaves{};
  Slot* from = nullptr;  ///< of `leaves`
};

/// What is to be done on the host's own thread. Of each kind one waits for each model at most; the
/// one that is under way may be followed by another of its kind.
struct ModelHost::Job {
  enum class Kind : std::uint8_t { kLoad, kUnload, kLose };
  static constexpr std::size_t kKinds = 3;
  Kind kind;
  Slot* slot;
  std::string why{};  ///< of kLose
};

class ModelHost::StopCount {
 public:
  void begin(std::function<void()> stopped) noexcept { stopped_ = std::move(stopped); }
  void add() noexcept { left_.fetch_add(1); }
  void leave() noexcept {
    if (left_.fetch_sub(1) != 1) return;
    if (const auto stopped = std::move(stopped_)) stopped();
  }

 private:
  std::atomic<std::size_t> left_{1};  // the own thread
  std::function<void()> stopped_;
};

}  // namespace weft
