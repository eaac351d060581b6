#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "weft/actors/request/pending_completion.h"

namespace weft {

/// An event that fires once, for which any number of operations may wait. Thread-safe. Always owned
/// by a shared_ptr.
class OneTimeEvent : public std::enable_shared_from_this<OneTimeEvent> {
 public:
  OneTimeEvent() = default;
  OneTimeEvent(const OneTimeEvent&) = delete;
  OneTimeEvent& operator=(const OneTimeEvent&) = delete;

  /// Completes as void(error_code) when the event has fired, never within the call; or with
  /// operation_aborted after any type of cancellation.
  template <class Handler>
  void async_wait(Handler handler, const boost::asio::any_io_executor& fallback) {
    auto slot = boost::asio::get_associated_cancellation_slot(handler);
    PendingCompletion completion(std::move(handler), fallback,
                                 [](Handler&& final_handler, boost::system::error_code error) {
                                   std::move(final_handler)(error);
                                 });
    const std::uint64_t place = next_place();
    if (slot.is_connected()) {
      slot.assign([weak = weak_from_this(), place](boost::asio::cancellation_type type) {
        if (const auto event = weak.lock()) event->cancel(place, type);
      });
    }
    add(place, std::move(completion));
  }

  /// Fires: posts the completions of all present and later waits. Further calls do nothing.
  void fire() noexcept;

 private:
  struct Waiting {
    std::uint64_t place;
    PendingCompletion completion;
  };

  std::uint64_t next_place() noexcept;
  void add(std::uint64_t place, PendingCompletion&& completion);
  void cancel(std::uint64_t place, boost::asio::cancellation_type type) noexcept;

  std::mutex mutex_;
  bool fired_ = false;
  std::uint64_t places_ = 0;
  std::vector<Waiting> waiting_;
};

}  // namespace weft
