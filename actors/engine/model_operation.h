#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "weft/actors/request/pending_completion.h"
#include "weft/core/error/error.h"

namespace weft {

/// The state of Engine::async_load, async_train and the like: a wait. Cancellation ends the wait,
/// but not the loading or the training. Thread-safe.
class ModelOperation : public std::enable_shared_from_this<ModelOperation> {
 public:
  template <class Handler>
  static std::shared_ptr<ModelOperation> start(Handler handler,
                                               const boost::asio::any_io_executor& fallback) {
    auto operation = std::make_shared<ModelOperation>();
    auto slot = boost::asio::get_associated_cancellation_slot(handler);
    operation->completion_.emplace(
        std::move(handler), fallback,
        [operation](auto&& final_handler, boost::system::error_code /*none*/) mutable {
          Error error = std::move(operation->error_);
          operation.reset();
          std::forward<decltype(final_handler)>(final_handler)(error.code, std::move(error.detail));
        });
    if (slot.is_connected()) {
      slot.assign([weak = std::weak_ptr(operation)](boost::asio::cancellation_type type) {
        const auto waiting = weak.lock();
        if (waiting && type != boost::asio::cancellation_type::none) {
          waiting->complete(Error{boost::asio::error::operation_aborted, {}});
        }
      });
    }
    return operation;
  }

  /// Posts the completion; later calls do nothing.
  void complete(const Result<void>& result) {
    std::optional<PendingCompletion> completion;
    {
      const std::scoped_lock lock(mutex_);
      if (!completion_) return;
      if (!result) error_ = result.error();
      completion = std::move(completion_);
      completion_.reset();
    }
    std::move(*completion).post({});
  }

 private:
  std::mutex mutex_;
  std::optional<PendingCompletion> completion_;
  Error error_{};  // written before the completion is posted
};

}  // namespace weft
