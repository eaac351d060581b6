// Each CASE is a mistake that the compiler must stop; CASE 0 is the same without a mistake.

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "weft/actors/engine/engine.h"

int main() {
  boost::asio::io_context context;
  weft::Engine engine(context.get_executor(), std::unique_ptr<weft::RequestPort>());
#if CASE == 1  // expects: completion_token_for
  engine.async_generate({}, [](boost::system::error_code, int) {});
#else
  engine.async_generate({}, [](boost::system::error_code, weft::GenerationResult) {});
#endif
#if CASE == 2  // expects: completion_token_for
  engine.async_open({}, [](weft::TokenStream) {});
#else
  engine.async_open({}, [](boost::system::error_code, weft::TokenStream) {});
#endif

  weft::TokenStream stream;
#if CASE == 3  // expects: completion_token_for
  stream.async_next([](boost::system::error_code, weft::Delta) {});
#else
  stream.async_next([](boost::system::error_code, std::optional<weft::Delta>) {});
#endif
#if CASE == 4  // expects: deleted
  const weft::TokenStream copy = stream;
#else
  const weft::TokenStream moved = std::move(stream);
#endif
#if CASE == 5  // expects: completion_token_for
  engine.async_drain([] {});
#else
  engine.async_drain([](boost::system::error_code) {});
#endif

  // GCC 12 destroys the members of an aggregate that stands in a co_await expression twice.
  const auto ignore = [](boost::system::error_code, const auto&) {};
#if CASE == 6  // expects: no matching
  engine.async_embed({.text = "Once"}, ignore);
#else
  engine.async_embed("Once", ignore);
#endif
#if CASE == 7  // expects: non-aggregate
  engine.async_open(weft::Request{.prompt = "Once"}, [](boost::system::error_code, auto) {});
#else
  engine.async_open(weft::Request("Once"), [](boost::system::error_code, auto) {});
#endif
#if CASE == 8  // expects: no matching
  engine.async_generate({.prompt = "Once", .max_tokens = 1}, ignore);
#else
  engine.async_generate("Once", ignore);
#endif
#if CASE == 9  // expects: non-aggregate
  const weft::Config config{.model = "model"};
#else
  const weft::Config config;
#endif
}
