#include "weft/actors/engine/token_stream.h"

#include <boost/system/system_error.hpp>

#include "weft/actors/engine_error.h"

namespace weft {

TokenStream& TokenStream::operator=(TokenStream&& other) noexcept {
  if (this != &other) {
    if (state_) state_->cancel();
    state_ = std::move(other.state_);
    result_ = std::move(other.result_);
  }
  return *this;
}

TokenStream::~TokenStream() {
  if (state_) state_->cancel();
}

const std::shared_ptr<StreamState>& TokenStream::shared_state() const {
  if (!state_) throw boost::system::system_error(EngineErrc::kNoStream);
  return state_;
}

const GenerationResult& TokenStream::result() {
  if (!state().read_to_end()) throw boost::system::system_error(EngineErrc::kNotFinished);
  if (!result_) result_ = state().copy_result();
  return *result_;
}

std::string_view TokenStream::error_detail() const {
  const Finish* const end = state().end();
  return end != nullptr ? std::string_view(end->error.detail) : std::string_view();
}

std::chrono::milliseconds TokenStream::retry_after() const {
  const Finish* const end = state().end();
  return end != nullptr ? end->retry_after : std::chrono::milliseconds(0);
}

}  // namespace weft
