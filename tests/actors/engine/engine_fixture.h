#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weft/actors/engine/engine.h"
#include "weft/tests/actors/fake_port.h"

namespace weft::test {

/// Records what a handler was called with.
template <class T>
struct Got {
  int calls = 0;
  boost::system::error_code error;
  std::optional<T> value;

  /// Makes a handler that records its arguments here.
  auto handler() {
    return [this](boost::system::error_code code, T given) {
      ++calls;
      error = code;
      value = std::move(given);
    };
  }
};

using GotNext = Got<std::optional<Delta>>;
using GotResult = Got<GenerationResult>;
using GotStream = Got<TokenStream>;

inline Request prompt(std::string text = "Once") {
  Request request;
  request.prompt = std::move(text);
  return request;
}

/// An engine over a port that does what the test says, on a context that the test runs by hand.
class EngineFixture : public testing::Test {
 protected:
  explicit EngineFixture(std::unique_ptr<FakePort> fake = std::make_unique<FakePort>())
      : port_(fake.get()), engine_(std::in_place, io_.get_executor(), std::move(fake)) {}

  /// Runs handlers until there are none. The context is restarted each time, since one that has run
  /// dry stops.
  void poll() {
    io_.restart();
    io_.poll();
  }

  /// Opens the stream of an admitted request, which is the port's last.
  TokenStream open(Request request = prompt()) {
    GotStream got;
    engine_->async_open(std::move(request), got.handler());
    port_->admit(port_->size() - 1);
    poll();
    EXPECT_EQ(got.calls, 1);
    EXPECT_FALSE(got.error) << got.error.message();
    return std::move(*got.value);
  }

  /// Reads what the stream has now; not for a stream that has nothing.
  GotNext next(TokenStream& stream) {
    GotNext got;
    stream.async_next(got.handler());
    poll();
    EXPECT_EQ(got.calls, 1);
    return got;
  }

  boost::asio::io_context io_;
  FakePort* port_;
  std::optional<Engine> engine_;
};

}  // namespace weft::test
