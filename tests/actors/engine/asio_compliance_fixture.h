#pragma once

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <utility>

#include "weft/tests/actors/engine/engine_fixture.h"

namespace weft::test {

/// For the tests that docs/asio-compliance.md names.
class AsioCompliance : public EngineFixture {
 protected:
  /// Runs a coroutine to its end while `script` drives the port between its steps.
  template <class Script>
  void run(boost::asio::awaitable<void> coroutine, Script script) {
    bool ended = false;
    boost::asio::co_spawn(io_, std::move(coroutine), [&](const std::exception_ptr& failure) {
      ended = true;
      if (failure) std::rethrow_exception(failure);
    });
    poll();
    script();
    poll();
    EXPECT_TRUE(ended);
  }
};

}  // namespace weft::test
