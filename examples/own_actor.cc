// An application's own actor in the pipeline: a filter between receiver and preprocessing. It
// refuses prompts with a forbidden word and passes the others on. Usage: own_actor MODEL_FOLDER

#include <weft/weft.h>

#include <boost/asio.hpp>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

class KeywordFilter {
 public:
  using Accepts = weft::PreprocessProtocol;

  KeywordFilter(weft::ActorContext& context, weft::PreprocessPool next, std::string word)
      : context_(context), next_(std::move(next)), word_(std::move(word)) {}

  void on(weft::PrepareMsg&& message) {
    if (message.ticket->request().prompt.find(word_) != std::string::npos) {
      std::move(message.ticket).fail({weft::EngineErrc::kBadRequest, "prompt: has " + word_});
      return;
    }
    const weft::PushResult result = next_.try_send(std::move(message));
    if (taken(result)) return;
    std::move(message.ticket).fail(weft::refusal_of(result, context_.system_ready()));
  }
  void undelivered(weft::PrepareMsg&& message, const weft::Error& why) {
    std::move(message.ticket).fail(why);
  }

 private:
  weft::ActorContext& context_;
  const weft::PreprocessPool next_;
  const std::string word_;
};

void ask(weft::Engine& engine, const std::string& prompt, int& left) {
  weft::Request request;
  request.prompt = prompt;
  request.max_tokens = 12;
  request.sampling.temperature = 0;
  engine.async_generate(std::move(request), [&engine, &left, prompt](auto error, auto result) {
    std::cout << prompt << " -> " << (error ? result.error_detail : result.choices[0].text) << '\n';
    if (--left == 0) engine.async_shutdown(boost::asio::detached);
  });
}

int main(int argc, char** argv) try {
  if (argc != 2) throw std::invalid_argument("usage: own_actor MODEL_FOLDER");
  boost::asio::io_context io;
  weft::Config config;
  config.model = argv[1];
  weft::PipelineOptions options;
  options.before_preprocess = [](weft::ActorSystem& system, const weft::PreprocessPool& next) {
    return system.spawn<KeywordFilter>({.name = "keyword-filter"}, next, std::string("password"));
  };
  weft::Engine engine(io.get_executor(),
                      std::make_unique<weft::Pipeline>(io.get_executor(), config, options));
  int left = 2;
  ask(engine, "Once upon a time", left);
  ask(engine, "The password is", left);
  io.run();
} catch (const std::exception& error) {
  std::cerr << "own_actor: " << error.what() << '\n';
  return 1;
}
