// A language model in an application that is written in callbacks: a stream that is stopped at the
// end of its first sentence, on a strand of its own. Usage: embed_callback MODEL_FOLDER

#include <weft/weft.h>

#include <boost/asio.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace asio = boost::asio;
using boost::system::error_code;

class Teller : public std::enable_shared_from_this<Teller> {
  // Each handler keeps the object alive and runs on its strand.
  template <class Call>
  auto on_strand(Call call) {
    return asio::bind_executor(strand_, [self = shared_from_this(), call](auto&&... args) {
      call(*self, std::forward<decltype(args)>(args)...);
    });
  }

 public:
  explicit Teller(weft::Engine& engine)
      : engine_(engine), strand_(asio::make_strand(engine.get_executor())) {}

  void begin(std::string prompt) {
    std::cout << prompt;
    weft::Request request(std::move(prompt));
    request.max_tokens = 64;
    engine_.async_open(std::move(request),
                       on_strand([](Teller& self, error_code error, auto opened) {
                         self.stream_ = std::move(opened);
                         error ? self.end(error) : self.read();
                       }));
  }

  [[nodiscard]] bool failed() const { return failed_; }

 private:
  void read() {
    stream_.async_next(
        on_strand([](Teller& self, error_code error, const std::optional<weft::Delta>& delta) {
          if (error || !delta) return self.end(error);
          std::cout << delta->text << std::flush;
          // Text that was produced before the engine stops still arrives.
          if (delta->text.find('.') != std::string::npos) self.stream_.stop();
          self.read();
        }));
  }

  void end(error_code error) {
    std::cout << '\n';
    failed_ = error.failed();
    if (failed_) std::cerr << error.message() << ": " << stream_.error_detail() << '\n';
    engine_.async_shutdown([](error_code) { std::cout << "(the engine has shut down)\n"; });
  }

  weft::Engine& engine_;
  asio::strand<asio::any_io_executor> strand_;
  weft::TokenStream stream_;
  bool failed_ = false;
};

int main(int argc, char** argv) {
  asio::io_context io;
  weft::Config config;
  config.model = argc > 1 ? argv[1] : "";
  auto engine = weft::Engine::create(io.get_executor(), config);
  if (!engine) {
    std::cerr << to_string(engine.error()) << '\n';
    return 1;
  }
  const auto teller = std::make_shared<Teller>(*engine);
  teller->begin("Once upon a time");
  io.run();
  return teller->failed() ? 1 : 0;
}
