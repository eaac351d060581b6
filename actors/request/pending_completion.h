#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution/relationship.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/asio/require.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <type_traits>
#include <utility>

namespace weft {

/// The completion of an outstanding asynchronous operation: its handler, in memory of the handler's
/// associated allocator, and outstanding work of the handler's associated executor. Move-only; one
/// thread at a time.
///
/// It differs from Boost 1.81's any_completion_handler: post() never completes within the call,
/// also when the handler's executor can only dispatch; it owns the work guard; and a handler of
/// use_future is completed by the fallback, where posting to its own executor would start a thread
/// pool of twice the processors (Asio's system_context).
class PendingCompletion {
 public:
  /// `complete(Handler&&, error_code)` turns what post() is given into the handler's arguments; it
  /// runs on the handler's executor, or on `fallback` where the handler has none. Throws what the
  /// allocator throws.
  template <class Handler, class Complete>
  PendingCompletion(Handler handler, const boost::asio::any_io_executor& fallback,
                    Complete complete)
      : operation_(OperationOf<Handler, Complete>::make(std::move(handler), fallback,
                                                        std::move(complete))) {}

  /// Lets the completion run on the handler's executor; what was allocated is freed before the
  /// handler runs. When the executor refuses, for want of memory, the handler is destroyed without
  /// having run, as it is at the end of its context.
  void post(boost::system::error_code error) && noexcept {
    if (Operation* const operation = operation_.release()) operation->post(error);
  }

 private:
  class Operation {
   public:
    Operation() = default;
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    /// Each of the two frees the operation.
    virtual void post(boost::system::error_code error) noexcept = 0;
    virtual void drop() noexcept = 0;

   protected:
    ~Operation() = default;
  };

  struct Drop {
    void operator()(Operation* operation) const noexcept { operation->drop(); }
  };

  /// Outstanding work of an executor of either of Asio's two kinds. Boost 1.81's
  /// executor_work_guard mistakes a strand of a type-erased executor for the older kind.
  template <class Executor>
  struct WorkOf;

  template <class Handler, class Complete>
  class OperationOf;

  /// Whether an executor runs posted functions later, and in a context of its own. An executor that
  /// can neither count outstanding work nor distinguish a fork from a continuation has no context
  /// of its own. any_io_executor only prefers these properties, and always has a context.
  template <class Executor>
  static constexpr bool kPostsItself =
      !boost::asio::execution::is_executor_v<Executor> ||
      std::is_same_v<Executor, boost::asio::any_io_executor> ||
      (boost::asio::can_require_v<Executor, boost::asio::execution::blocking_t::never_t> &&
       (boost::asio::can_require_v<Executor,
                                   boost::asio::execution::outstanding_work_t::tracked_t> ||
        boost::asio::can_require_v<Executor, boost::asio::execution::relationship_t::fork_t>));

  std::unique_ptr<Operation, Drop> operation_;
};

template <class Executor>
struct PendingCompletion::WorkOf {
  using Type = boost::asio::executor_work_guard<Executor>;
  static Type track(const Executor& executor) { return Type(executor); }
};

template <class Executor>
  requires boost::asio::execution::is_executor_v<Executor>
struct PendingCompletion::WorkOf<Executor> {
  static auto track(const Executor& executor) {
    return boost::asio::prefer(executor, boost::asio::execution::outstanding_work.tracked);
  }
  using Type = decltype(track(std::declval<const Executor&>()));
};

template <class Handler, class Complete>
class PendingCompletion::OperationOf final : public Operation {
  // Asio's recycling of small blocks, unless the handler asks for something else.
  using HandlerAllocator =
      boost::asio::associated_allocator_t<Handler, boost::asio::recycling_allocator<void>>;
  using Allocator =
      typename std::allocator_traits<HandlerAllocator>::template rebind_alloc<OperationOf>;
  using AllocatorTraits = std::allocator_traits<Allocator>;
  using Executor = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;
  using Work = typename WorkOf<Executor>::Type;

 public:
  static OperationOf* make(Handler handler, const boost::asio::any_io_executor& fallback,
                           Complete complete) {
    Allocator allocator(allocator_of(handler));
    OperationOf* const place = AllocatorTraits::allocate(allocator, 1);
    try {
      return ::new (static_cast<void*>(place))
          OperationOf(std::move(handler), fallback, std::move(complete));
    } catch (...) {
      AllocatorTraits::deallocate(allocator, place, 1);
      throw;
    }
  }

  OperationOf(Handler&& handler, const boost::asio::any_io_executor& fallback, Complete&& complete)
      : completion_{std::move(complete), std::move(handler)},
        fallback_(fallback),
        work_(WorkOf<Executor>::track(
            boost::asio::get_associated_executor(completion_.handler, fallback_))) {}

  void post(boost::system::error_code error) noexcept override {
    const HandlerAllocator allocator = allocator_of(completion_.handler);
    Completion completion = std::move(completion_);
    const boost::asio::any_io_executor fallback = std::move(fallback_);
    Work work = std::move(work_);
    free(Allocator(allocator));
    try {
      const Executor executor = boost::asio::get_associated_executor(completion.handler, fallback);
      auto run = boost::asio::bind_allocator(allocator,
                                             Run{std::move(completion), std::move(work), error});
      if constexpr (kPostsItself<Executor>) {
        boost::asio::post(executor, std::move(run));
      } else {
        // An executor such as any_completion_executor can run a function, but not promise to do so
        // later; use_future's belongs to no context of its own.
        boost::asio::post(fallback, boost::asio::bind_allocator(
                                        allocator, [executor, run = std::move(run)]() mutable {
                                          boost::asio::dispatch(executor, std::move(run));
                                        }));
      }
    } catch (...) {
      // The handler was destroyed with the function that the executor refused.
    }
  }

  void drop() noexcept override {
    const HandlerAllocator allocator = allocator_of(completion_.handler);
    // The completion may own the memory that the allocator gives, so it lives until this returns.
    [[maybe_unused]] const Completion completion = std::move(completion_);
    free(Allocator(allocator));
  }

 private:
  struct Completion {
    Complete complete;
    Handler handler;
  };
  struct Run {
    Completion completion;
    Work work;  // kept until the handler has run
    boost::system::error_code error;

    void operator()() { std::move(completion.complete)(std::move(completion.handler), error); }
  };

  static HandlerAllocator allocator_of(const Handler& handler) noexcept {
    return boost::asio::get_associated_allocator(handler, boost::asio::recycling_allocator<void>());
  }

  void free(Allocator allocator) noexcept {
    this->~OperationOf();
    AllocatorTraits::deallocate(allocator, this, 1);
  }

  Completion completion_;
  boost::asio::any_io_executor fallback_;
  Work work_;
};

}  // namespace weft
