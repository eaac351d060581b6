// Two actors of an application's own on the io_context that it already has: one splits lines into
// words, one counts them. Ctrl-C handling, threads and printing stay the application's business.

#include <weft/weft.h>

#include <boost/asio.hpp>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

struct LineMsg {  // application -> Splitter
  std::string text;
};
struct WordMsg {  // Splitter -> Counter
  std::string word;
};

class Counter {
 public:
  using Accepts = weft::Protocol<WordMsg>;

  explicit Counter(weft::ActorContext&) {}
  void on(WordMsg&& message) { ++counts_[message.word]; }
  void undelivered(WordMsg&&, const weft::Error&) {}
  void exiting(const weft::Error&) {
    for (const auto& [word, count] : counts_) std::cout << count << ' ' << word << '\n';
  }

 private:
  std::map<std::string, int> counts_;
};

class Splitter {
 public:
  using Accepts = weft::Protocol<LineMsg>;

  Splitter(weft::ActorContext& context, const weft::ActorRef<Counter::Accepts>& counter)
      : counter_(counter.sender(context.id())) {}
  void on(LineMsg&& message) {
    std::string_view rest = message.text;
    while (!rest.empty()) {
      const auto end = std::min(rest.find(' '), rest.size());
      if (end > 0) counter_.try_send(WordMsg{std::string(rest.substr(0, end))});
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  void undelivered(LineMsg&& message, const weft::Error& why) {
    std::cerr << "not split: " << message.text << ": " << to_string(why) << '\n';
  }

 private:
  weft::Sender<Counter::Accepts> counter_;
};

int main() {
  boost::asio::io_context io;
  weft::ActorSystem actors(io.get_executor());
  const auto counter = actors.spawn<Counter>({.name = "counter"});
  const auto splitter = actors.spawn<Splitter>({.name = "splitter"}, counter);

  splitter.try_send(LineMsg{"the warp and the weft"});
  splitter.try_send(LineMsg{"the loom"});

  // The application goes on as before; here it ends when the lines are counted.
  io.poll();
  actors.async_stop([] { std::cout << "all actors have exited\n"; });
  io.run();
}
