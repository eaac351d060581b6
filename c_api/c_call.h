#pragma once

#include <exception>
#include <string>
#include <utility>

#include "weft/c_api/weft_c.h"
#include "weft/core/error/error.h"

namespace weft::c_api {

/// A status with its message.
struct Outcome {
  weft_status status = WEFT_OK;
  std::string text{};
};

/// Returns the status and the message that a caller gets for an error.
[[nodiscard]] Outcome outcome_of(const Error& error);
/// Returns the outcome of an exception that reached the edge of the library.
[[nodiscard]] Outcome outcome_of(const std::exception& failure) noexcept;

/// Gives a text to the caller where `error` is not NULL; sets NULL where there is no memory.
void give_text(const std::string& text, char** error) noexcept;

/// Runs the body of a function that can fail. No exception leaves it. Where a required argument is
/// NULL, the outcome is WEFT_INVALID and the body does not run.
template <class Body>
[[nodiscard]] weft_status call(bool all_there, char** error, Body&& body) noexcept {
  if (error != nullptr) *error = nullptr;
  Outcome outcome;
  try {
    outcome = all_there ? std::forward<Body>(body)() : Outcome{WEFT_INVALID, "an argument is NULL"};
  } catch (const std::exception& failure) {
    outcome = outcome_of(failure);
  } catch (...) {
    outcome.status = WEFT_FAILED;
  }
  if (outcome.status != WEFT_OK && !outcome.text.empty()) give_text(outcome.text, error);
  return outcome.status;
}

}  // namespace weft::c_api
