#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "weft/core/error/error.h"

namespace weft {

/// The errors of reading numbers from a file's bytes.
enum class ByteErrc {
  /// The file ends before the field does.
  kEndOfData = 1,
};

[[nodiscard]] const TableCategory& byte_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(ByteErrc code) noexcept;

/// A part of a larger input that is not all in memory: the bytes from `begin` on. Readers count
/// offsets from the input's start and check sizes against the input's end.
struct ByteWindow {
  std::span<const std::byte> bytes;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< The input's end, as an offset from its start.
  /// A reader raises it to the end of a field that is in the input but not in the window. The field
  /// fails with kEndOfData then; the caller drops the reader's results and tries again with a
  /// window that reaches to `wanted`.
  std::uint64_t wanted = 0;
};

/// Reads little-endian fields from bytes in order and never past their end: every size and count
/// that a file states is compared with the bytes that are left before anything is allocated or
/// touched. Errors name the field and its offset. Borrows the bytes; owner only.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept
      : bytes_(bytes), end_(bytes.size()) {}
  /// Begins at the window's begin. Borrows the window too.
  explicit ByteReader(ByteWindow& window) noexcept
      : bytes_(window.bytes),
        begin_(window.begin),
        end_(window.end),
        offset_(window.begin),
        wanted_(&window.wanted) {}

  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::uint64_t remaining() const noexcept { return end_ - offset_; }
  /// Returns the offset at which the whole input ends.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

  /// Reads an integer or a floating-point number, which errors call `field`.
  template <class T>
    requires std::is_arithmetic_v<T>
  [[nodiscard]] Result<T> read(std::string_view field) {
    static_assert(std::endian::native == std::endian::little);
    const std::byte* from = take(sizeof(T));
    if (from == nullptr) return end_of_data(field, sizeof(T));
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }

  /// Reads `count` bytes, which are borrowed.
  [[nodiscard]] Result<std::span<const std::byte>> read_bytes(std::uint64_t count,
                                                              std::string_view field);

  /// Reads `count` bytes as text, borrowed; not checked to be UTF-8.
  [[nodiscard]] Result<std::string_view> read_text(std::uint64_t count, std::string_view field);

  /// Returns the next `count` bytes, or as many as are left, borrowed, without moving forward.
  [[nodiscard]] std::span<const std::byte> peek(std::uint64_t count);

  /// Goes over `count` bytes, which need not be in the window.
  [[nodiscard]] Result<void> skip(std::uint64_t count, std::string_view field);

  /// Goes to `offset` from the start, which need not be in the window.
  [[nodiscard]] Result<void> seek(std::uint64_t offset, std::string_view field);

  /// Checks that `count` items of `bytes_each` can still be in the data; kEndOfData names a count
  /// that cannot be right.
  [[nodiscard]] Result<void> expect(std::uint64_t count, std::uint64_t bytes_each,
                                    std::string_view field) const;

 private:
  [[nodiscard]] Error end_of_data(std::string_view field, std::uint64_t wanted) const;
  /// Returns the address of the next `count` bytes and moves past them; null when they are missing.
  [[nodiscard]] const std::byte* take(std::uint64_t count);
  /// Whether the next `count` bytes are in the window; asks for them when they are not.
  [[nodiscard]] bool holds(std::uint64_t count);

  std::span<const std::byte> bytes_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t* wanted_ = nullptr;
};

/// A ByteReader for headers of many fields. After the first missing field, everything reads as zero
/// or empty and nothing moves; error() names that field. Look at error() before a number that was
/// read decides how long a loop runs. Borrows the bytes; owner only.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) noexcept : reader_(bytes) {}
  explicit FieldReader(ByteWindow& window) noexcept : reader_(window) {}

  template <class T>
  T take(std::string_view field) {
    return error_ ? T{} : keep(reader_.read<T>(field));
  }
  std::span<const std::byte> bytes(std::uint64_t count, std::string_view field);
  std::string_view text(std::uint64_t count, std::string_view field);
  void skip(std::uint64_t count, std::string_view field);
  void seek(std::uint64_t offset, std::string_view field);
  /// Fails like ByteReader::expect().
  void expect(std::uint64_t count, std::uint64_t bytes_each, std::string_view field);

  [[nodiscard]] std::uint64_t offset() const noexcept { return reader_.offset(); }
  [[nodiscard]] std::uint64_t remaining() const noexcept { return reader_.remaining(); }

  [[nodiscard]] bool failed() const noexcept { return error_.has_value(); }
  /// The first error; only when failed().
  [[nodiscard]] const Error& error() const noexcept { return *error_; }

 private:
  template <class T>
  T keep(const Result<T>& found) {
    if (found) return *found;
    error_ = found.error();
    return T{};
  }

  ByteReader reader_;
  std::optional<Error> error_;
};

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::ByteErrc> : std::true_type {};
