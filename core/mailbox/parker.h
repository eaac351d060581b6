#pragma once

#include <semaphore.h>

namespace weft {

/// A place where one thread sleeps until another wakes it. An unpark before the park is kept;
/// several count as one or more.
class Parker {
 public:
  Parker() noexcept { sem_init(&permits_, 0, 0); }
  Parker(const Parker&) = delete;
  Parker& operator=(const Parker&) = delete;
  ~Parker() { sem_destroy(&permits_); }

  /// Owner only.
  void park() noexcept {
    while (sem_wait(&permits_) != 0) {  // interrupted by a signal handler
    }
  }
  /// Thread-safe.
  void unpark() noexcept { sem_post(&permits_); }

 private:
  sem_t permits_;
};

}  // namespace weft
