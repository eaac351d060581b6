#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <future>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "weft/actors/engine/engine.h"
#include "weft/c_api/c_call.h"
#include "weft/c_api/c_request.h"
#include "weft/c_api/weft_c.h"
#include "weft/core/thread.h"

namespace weft::c_api {

namespace asio = boost::asio;

/// A context with a thread that runs it, for as long as an engine or a stream needs it.
class OwnContext {
 public:
  OwnContext()
      : thread_([this] {
          name_this_thread("weft-c");
          context_.run();
        }) {}
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;
  ~OwnContext() {
    context_.stop();
    thread_.join();
  }

  [[nodiscard]] asio::any_io_executor executor() { return context_.get_executor(); }

 private:
  asio::io_context context_{1};
  const asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  std::thread thread_;
};

/// The results of an asynchronous operation that gives an error and a value.
template <class T>
using Completed = std::pair<boost::system::error_code, T>;

/// Makes a handler that fulfils the promise; a handler that is dropped uncalled breaks it.
template <class T>
auto keeping(std::promise<Completed<T>> promise) {
  return [promise = std::move(promise)](boost::system::error_code error, T value) mutable {
    promise.set_value({error, std::move(value)});
  };
}

}  // namespace weft::c_api

// NOLINTBEGIN(readability-identifier-naming): C's names
struct weft_engine {
  std::shared_ptr<weft::c_api::OwnContext> context;
  weft::Engine engine;
  weft::ModelCard card;  ///< the only model; its `model` is empty where the engine has several
};
// NOLINTEND(readability-identifier-naming)

namespace weft::c_api {

/// Returns the model that a request names. An engine with one model ignores the name; else "" means
/// the first model. Loads the model where requests may load models, and blocks meanwhile. The error
/// is as of the HTTP service.
[[nodiscard]] ApiResult<ModelCard> card_for(weft_engine& engine, std::string_view name);

/// Returns the status and text for a caller whose request was refused.
[[nodiscard]] Outcome refusal_of(const ApiError& error);

}  // namespace weft::c_api
