#pragma once

/// moodycamel's concurrentqueue, which also ThreadSanitizer understands.
///
/// The queue hands an emptied block back to its producer by fences (std::atomic_thread_fence).
/// ThreadSanitizer does not model fences and would call every reuse a race. In its builds each
/// fence in the header also tells it what a fence means: what was before a release fence is before
/// what comes after an acquire fence. Nothing is suppressed, and other builds are untouched.

#include <atomic>

#if defined(__SANITIZE_THREAD__)
#define WEFT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_TSAN 1
#endif
#endif

#ifdef WEFT_TSAN
#include <sanitizer/tsan_interface.h>

namespace weft::detail {

inline char g_tsan_fence = 0;

inline void tell_tsan_of_fence(std::memory_order order) noexcept {
  if (order != std::memory_order_acquire) __tsan_release(&g_tsan_fence);
  if (order != std::memory_order_release) __tsan_acquire(&g_tsan_fence);
}

}  // namespace weft::detail

#define atomic_thread_fence(order) \
  atomic_thread_fence(order), ::weft::detail::tell_tsan_of_fence(order)
#endif

// The header moved with version 1.0.4.
#if __has_include(<concurrentqueue/moodycamel/concurrentqueue.h>)
#include <concurrentqueue/moodycamel/concurrentqueue.h>
#else
#include <concurrentqueue/concurrentqueue.h>
#endif

#ifdef WEFT_TSAN
#undef atomic_thread_fence
#endif
