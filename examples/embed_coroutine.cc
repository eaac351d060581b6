// A language model in an application that has an io_context and coroutines: streams a story, and
// asks a question beside it, which has a minute to be answered. Usage: embed_coroutine MODEL_FOLDER

#include <weft/weft.h>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;

asio::awaitable<void> tell(weft::Engine& engine, std::string beginning) {
  weft::Request request;
  request.prompt = beginning;
  request.max_tokens = 48;
  request.sampling.temperature = 0;
  weft::TokenStream story = co_await engine.async_open(std::move(request), asio::use_awaitable);
  std::cout << beginning;
  while (auto delta = co_await story.async_next(asio::use_awaitable)) {
    std::cout << delta->text << std::flush;
  }
  std::cout << "\n(" << story.result().usage.output_tokens << " tokens, "
            << to_string(story.result().reason) << ")\n";
}

asio::awaitable<std::string> ask(weft::Engine& engine, std::string question) {
  using namespace asio::experimental::awaitable_operators;
  weft::Request request;
  request.messages = {{{"role", "user"}, {"content", question}}};
  request.max_tokens = 16;
  asio::steady_timer patience(co_await asio::this_coro::executor, std::chrono::seconds(60));
  const auto first =
      co_await (engine.async_generate(std::move(request), asio::as_tuple(asio::use_awaitable)) ||
                patience.async_wait(asio::use_awaitable));
  if (first.index() == 1) {  // the request has been cancelled and has ended
    co_return "(no answer in time)";
  }
  const auto& [error, answer] = std::get<0>(first);
  if (error) throw boost::system::system_error(error, answer.error_detail);
  co_return answer.choices.front().text;
}

asio::awaitable<void> talk(weft::Engine& engine) {
  using namespace asio::experimental::awaitable_operators;
  const std::string question = "What comes after seven?";
  const auto answer = co_await (tell(engine, "Once upon a time") && ask(engine, question));
  std::cout << question << ' ' << answer << '\n';
  co_await engine.async_shutdown(asio::use_awaitable);
}

int main(int argc, char** argv) try {
  if (argc != 2) throw std::invalid_argument("usage: embed_coroutine MODEL_FOLDER");
  asio::io_context io;
  weft::Config config;  // or weft::Config::load("weft.toml").value()
  config.model = argv[1];
  weft::Engine engine(io.get_executor(), config);

  std::exception_ptr failure;
  asio::co_spawn(io, talk(engine), [&](std::exception_ptr thrown) {
    failure = thrown;
    if (failure) io.stop();
  });
  io.run();  // the application's loop; the engine uses it and starts no other
  if (failure) std::rethrow_exception(failure);
} catch (const std::exception& error) {
  std::cerr << "embed_coroutine: " << error.what() << '\n';
  return 1;
}
