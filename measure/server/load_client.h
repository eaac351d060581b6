#pragma once

#include <memory>

#include "weft/measure/server/answer_meter.h"

namespace weft::measure {

/// A way to ask a server. All its functions are called on one thread.
class LoadClient {
 public:
  LoadClient() = default;
  LoadClient(const LoadClient&) = delete;
  LoadClient& operator=(const LoadClient&) = delete;
  virtual ~LoadClient() = default;

  /// Sends a request and passes all its events, always including the end, to `meter`, but not
  /// before ask() returns.
  virtual void ask(std::shared_ptr<AnswerMeter> meter) = 0;
  /// Breaks off all requests under way.
  virtual void stop() = 0;
};

}  // namespace weft::measure
