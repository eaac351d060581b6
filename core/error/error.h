#pragma once

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft {

/// One enumerator of a layer's error enum: its number, its name on the wire, and a sentence for
/// people.
struct ErrorText {
  int value;
  std::string_view name;
  std::string_view message;
};

/// The category of one layer's errors, made from a table. A layer has one enum, one table and one
/// object of this class; `id` is any fixed random number, so that two copies of the library in one
/// process agree.
class TableCategory final : public boost::system::error_category {
 public:
  /// `name` and `table` must live as long as the category.
  constexpr TableCategory(std::uint64_t id, const char* name,
                          std::span<const ErrorText> table) noexcept
      : error_category(id), name_(name), table_(table) {}

  [[nodiscard]] const char* name() const noexcept override { return name_; }
  using error_category::message;
  [[nodiscard]] std::string message(int value) const override;

  /// Returns the enumerator's name on the wire, "unknown_error" for a number that is not in the
  /// table.
  [[nodiscard]] std::string_view name_of(int value) const noexcept;

  /// All errors of the category.
  [[nodiscard]] std::span<const ErrorText> table() const noexcept { return table_; }

 private:
  [[nodiscard]] const ErrorText* find(int value) const noexcept;

  const char* name_;
  std::span<const ErrorText> table_;
};

/// The errors of sending messages between actors.
enum class CoreErrc {
  /// The receiver's mailbox is full. Try again later, or refuse the request.
  kMailboxFull = 1,
  /// The receiver has exited and will never take messages again.
  kMailboxClosed,
  /// The actor failed while it held the message, or lost the state that the message belonged to.
  kActorFailed,
  /// The system was stopped before the message was handled.
  kStopped,
  /// An actor that the engine cannot do without has failed for good.
  kNotReady,
};

/// The category of these errors, and how one becomes a boost::system::error_code.
[[nodiscard]] const TableCategory& core_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(CoreErrc code) noexcept;

/// An error that a request, a file or a message can cause: a code to branch on and a detail for
/// people, which names the field, file or offset. It is not thrown by itself; see Result.
struct Error {
  boost::system::error_code code{};
  std::string detail{};
};

/// Returns "detail: message of the code", or the message alone.
[[nodiscard]] std::string to_string(const Error& error);

/// Returns the same error with "place: " before its detail, unless the detail names the place
/// already. A place is a file, or a field.
[[nodiscard]] Error error_in(std::string_view place, Error error);

/// Called by Result::value() when there is no value: throws boost::system::system_error with the
/// same code and text.
[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& where);

/// A value, or why there is none.
template <class T>
using Result = boost::system::result<T, Error>;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::CoreErrc> : std::true_type {};
