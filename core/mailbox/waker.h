#pragma once

namespace weft {

/// Can set a sleeping consumer to work. Thread-safe; waking one that is awake does no harm.
class Waker {
 public:
  /// Lets the consumer run. Called by any thread.
  virtual void wake() noexcept = 0;

 protected:
  Waker() = default;
  Waker(const Waker&) = default;
  Waker& operator=(const Waker&) = default;
  ~Waker() = default;
};

}  // namespace weft
