// A loop that the application owns: the characters of a game speak by a language model, which
// computes in the time that each frame has left. No threads and no executor; each step of the model
// runs within the game's own frame. Usage: game_loop MODEL_FOLDER

#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using FrameClock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr microseconds kFrame{16'667};   // 60 frames a second
constexpr microseconds kSpeech{10'000};  // the model's time in each frame
constexpr int kMostFrames = 2'000;

struct Character {
  std::string name;
  std::string line;
};

/// The voices of all characters: one model, and one step for all characters that speak.
class Voices {
 public:
  explicit Voices(weft::Stepper stepper) : stepper_(std::move(stepper)) {}

  void speak(const std::string& name, const std::string& begin) {
    weft::Request request(begin);
    request.max_tokens = 24;
    request.sampling.seed = 1;
    request.sampling.temperature = 0.7F;
    request.stop = {"."};
    const auto id = stepper_.add(std::move(request));
    if (!id) throw std::runtime_error(name + ": " + to_string(id.error()));
    speaking_[*id] = {name, begin};
  }

  /// Computes until the time is over, but at least one step, so that slow machines make progress as
  /// well.
  void compute_until(FrameClock::time_point end) {
    while (!stepper_.idle()) {
      const auto began = FrameClock::now();
      for (const weft::StepOutput& output : stepper_.infer(end)) take(output);
      const auto now = FrameClock::now();
      longest_ = std::max(longest_ - longest_ / 16, now - began);  // so that one long step is
                                                                   // forgotten slowly
      if (now + longest_ > end) return;
    }
  }

  [[nodiscard]] bool silent() const { return stepper_.idle(); }

 private:
  void take(const weft::StepOutput& output) {
    Character& speaker = speaking_.at(output.id);
    for (const weft::Delta& delta : output.deltas) speaker.line += delta.text;
    if (!output.end) return;
    if (output.end->error.code) throw std::runtime_error(to_string(output.end->error));
    std::cout << speaker.name << ": " << speaker.line << " (" << output.end->usage.output_tokens
              << " tokens)\n";
    speaking_.erase(output.id);
  }

  weft::Stepper stepper_;
  std::map<weft::RequestId, Character> speaking_;
  FrameClock::duration longest_{};
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::invalid_argument("usage: game_loop MODEL_FOLDER");
  weft::Config config;
  config.model = argv[1];
  config.threads = 1;  // one thread, the game's own; with more threads, each step is computed by
                       // all of them
  config.max_rows = 8;
  config.target_inter_token = kSpeech;  // prompts are cut into steps that fit
  Voices voices(weft::Stepper::create(config).value());

  voices.speak("the baker", "Once upon a time");
  int frame = 0;
  for (; frame < kMostFrames && (frame < 10 || !voices.silent()); ++frame) {
    const auto began = FrameClock::now();
    // The game's own work goes here: read keys, move the world, draw. New characters come in.
    if (frame == 3) voices.speak("the sailor", "One day a little boat");
    if (frame == 5) voices.speak("the cat", "The cat");
    voices.compute_until(began + kSpeech);
    // Here the game waits for the screen, until began + kFrame.
  }
  std::cout << "all have spoken after " << frame << " frames of " << kFrame.count() << " us\n";
  return voices.silent() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "game_loop: " << error.what() << '\n';
  return 1;
}
