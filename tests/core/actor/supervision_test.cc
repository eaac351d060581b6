#include "weft/core/actor/supervision.h"

#include <gtest/gtest.h>

#include <fstream>
#include <new>
#include <stdexcept>
#include <string>

#include "weft/core/error/internal_error.h"
#include "weft/tests/fixture/source_path.h"

namespace weft {
namespace {

template <class Exception>
ExitReason reason_of(const Exception& exception) {
  return exit_reason(std::make_exception_ptr(exception));
}

TEST(ExitReason, IsClassifiedByTheException) {
  EXPECT_EQ(reason_of(std::runtime_error("x")).kind, ExitKind::kException);
  EXPECT_EQ(reason_of(std::bad_alloc()).kind, ExitKind::kOutOfMemory);
  EXPECT_EQ(reason_of(InternalError("x")).kind, ExitKind::kInternalError);
  EXPECT_EQ(reason_of(ActorFailure(ExitKind::kDeviceLost, "x")).kind, ExitKind::kDeviceLost);
  EXPECT_EQ(reason_of(42).kind, ExitKind::kException);
}

TEST(ExitReason, KeepsTheExceptionsText) {
  EXPECT_EQ(reason_of(std::runtime_error("page 3")).what, "page 3");
  EXPECT_EQ(reason_of(42).what, "an exception that is not a std::exception");
}

TEST(SupervisionTable, TakesTheEngineToNotReadyWhereItHasNoRow) {
  EXPECT_EQ(find_action({}, ActorRole::kReceiver, ExitKind::kException),
            SupervisionAction::kNotReady);
}

std::string line_of(const SupervisionRule& rule) {
  return "| " + std::string(to_string(rule.role)) + " | " + std::string(to_string(rule.exit)) +
         " | " + std::string(to_string(rule.action)) + " | " + std::string(rule.why) + " |";
}

TEST(SupervisionTable, IsTheOneInTheReadme) {
  std::ifstream readme(test::source_path("core/README.md"));
  std::string documented;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("| ") && line.ends_with(" |")) documented += line + '\n';
  }
  std::string data;
  for (const SupervisionRule& rule : default_supervision()) data += line_of(rule) + '\n';
  EXPECT_NE(documented.find(data), std::string::npos)
      << "core/README.md must show these rows, in this order:\n"
      << data;
}

}  // namespace
}  // namespace weft
