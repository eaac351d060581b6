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

/// The most operations that wait for one model to be loaded or unloaded; more are refused as
/// overloaded.
inline constexpr std::size_t kMaxModelWaiters = 64;

/// How long a model stays loaded for the request of a caller that waited for the loading: longer
/// than that request takes to arrive, if it comes at all.
inline constexpr Duration kFirstUse = std::chrono::seconds(2);

/// A model in memory. Its requests hold the gate; its pipeline is destroyed before the gate.
struct ModelHost::Running {
  Gate gate;
  std::shared_ptr<ModelUse> use;
  std::unique_ptr<RequestPort> port;
};

/// One of the host's models. `running` is set while the state is loaded or unloading; `waiting` and
/// `told` may have entries while the model is not loaded.
struct ModelHost::Slot {
  explicit Slot(ModelConfig what) : config(std::move(what)) {}

  const ModelConfig config;
  ModelState state = ModelState::kUnloaded;
  Error failure{};
  std::int64_t created = 0;
  std::unique_ptr<Running> running{};
  bool leaving = false;  ///< `running` is being destroyed, by unload() or for another model
  /// A request that waits for the model. There are at most as many as its pipeline would take.
  struct Waiting {
    RequestTicket ticket;
    std::int64_t prompt_tokens;  ///< by estimate
  };
  std::vector<Waiting> waiting{};
  std::vector<ModelDone> told{};  ///< to call when it is loaded or unloaded
  std::uint64_t used = 0;         ///< the number of its latest use
  /// It does not leave for another model before so many requests have arrived, or that time passed.
  std::size_t expected = 0;
  TimePoint expected_until{};

  [[nodiscard]] bool in_memory() const noexcept { return running != nullptr || leaving; }
};

/// A request's hold on its model, from its submission to its end.
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

/// A model's next state, and the list that shows it. It is made before any change, so that a lack
/// of memory changes nothing.
struct ModelHost::NextState {
  ModelState state;
  Error failure;  ///< with kFailed
  std::shared_ptr<const ModelList> list;
};

/// Whether there is room for one more model, and which model must leave for it.
struct ModelHost::Room {
  bool found = false;
  bool later = false;  ///< no room now, but perhaps soon: a loaded model still expects requests
  std::unique_ptr<Running> leaves{};
  Slot* from = nullptr;  ///< the slot of `leaves`
};

/// A job for the host's own thread. At most one of each kind waits for each model, besides a
/// running one.
struct ModelHost::Job {
  enum class Kind : std::uint8_t { kLoad, kUnload, kLose };
  static constexpr std::size_t kKinds = 3;
  Kind kind;
  Slot* slot;
  std::string why{};  ///< for kLose
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
  std::atomic<std::size_t> left_{1};  // 1 for the host's thread
  std::function<void()> stopped_;
};

}  // namespace weft
