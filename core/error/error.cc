#include "weft/core/error/error.h"

#include <algorithm>
#include <array>
#include <boost/system/system_error.hpp>

namespace weft {
namespace {

constexpr std::array kCoreErrors = {
    ErrorText{static_cast<int>(CoreErrc::kMailboxFull), "mailbox_full",
              "the receiver's mailbox is full"},
    ErrorText{static_cast<int>(CoreErrc::kMailboxClosed), "mailbox_closed",
              "the receiver has exited"},
    ErrorText{static_cast<int>(CoreErrc::kActorFailed), "actor_failed",
              "the actor that held the message failed"},
    ErrorText{static_cast<int>(CoreErrc::kStopped), "stopped",
              "the system stopped before the message was handled"},
    ErrorText{static_cast<int>(CoreErrc::kNotReady), "not_ready",
              "an actor that the engine needs has failed for good"},
};

constexpr TableCategory kCoreCategory(0x7c1f0a53e6b2d948, "weft.core", kCoreErrors);

}  // namespace

const ErrorText* TableCategory::find(int value) const noexcept {
  const auto row = std::ranges::find(table_, value, &ErrorText::value);
  return row == table_.end() ? nullptr : &*row;
}

std::string TableCategory::message(int value) const {
  const ErrorText* row = find(value);
  return row != nullptr ? std::string(row->message) : "unknown error " + std::to_string(value);
}

std::string_view TableCategory::name_of(int value) const noexcept {
  const ErrorText* row = find(value);
  return row != nullptr ? row->name : std::string_view("unknown_error");
}

const TableCategory& core_category() noexcept { return kCoreCategory; }

boost::system::error_code make_error_code(CoreErrc code) noexcept {
  return {static_cast<int>(code), core_category()};
}

std::string to_string(const Error& error) {
  if (error.detail.empty()) return error.code.message();
  return error.detail + ": " + error.code.message();
}

Error error_in(std::string_view place, Error error) {
  if (error.detail.find(place) != std::string::npos) return error;
  error.detail = std::string(place) + (error.detail.empty() ? "" : ": ") + error.detail;
  return error;
}

void throw_exception_from_error(const Error& error, const boost::source_location& /*where*/) {
  throw boost::system::system_error(error.code, error.detail);
}

}  // namespace weft
