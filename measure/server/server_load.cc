#include "weft/measure/server/server_load.h"

#include <chrono>
#include <utility>

namespace weft::measure {

using std::chrono::steady_clock;

ServerLoad::ServerLoad(const boost::asio::any_io_executor& executor, Load load, LoadClient& client)
    : load_(std::move(load)),
      closed_loop_(load_.at_once > 0 && !load_.arrivals.empty() && load_.arrivals.back().at <= 0),
      client_(client),
      timer_(executor),
      outcomes_(load_.arrivals.size()) {
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    outcomes_[i].asked = load_.arrivals[i];
    outcomes_[i].began = load_.arrivals[i].at;
    outcomes_[i].error = kNotSent;
  }
}

void ServerLoad::start(std::function<void()> on_end) {
  on_end_ = std::move(on_end);
  began_ = steady_clock::now();
  if (outcomes_.empty()) return std::exchange(on_end_, nullptr)();
  send_due();
}

TimePoint ServerLoad::time_of(double seconds) const noexcept {
  return began_ + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

bool ServerLoad::may_send() const noexcept {
  return load_.at_once <= 0 || std::cmp_less(progress_.under_way(), load_.at_once);
}

void ServerLoad::send_due() {
  const TimePoint now = steady_clock::now();
  while (due_ < load_.arrivals.size() && time_of(load_.arrivals[due_].at) <= now) {
    held_back_.push_back(due_++);
  }
  while (!held_back_.empty() && may_send()) {
    const std::size_t number = held_back_.front();
    held_back_.pop_front();
    send(number);
  }
  wait_for_next();
}

void ServerLoad::wait_for_next() {
  if (due_ == load_.arrivals.size()) return;
  timer_.expires_at(time_of(load_.arrivals[due_].at));
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error && !stopping_) send_due();
  });
}

void ServerLoad::send(std::size_t number) {
  Outcome begun = outcomes_[number];
  begun.error.clear();
  const TimePoint now = steady_clock::now();
  begun.sent = std::chrono::duration<double>(now - began_).count();
  if (closed_loop_) begun.began = begun.sent;
  ++progress_.sent;
  auto meter = std::make_shared<AnswerMeter>(
      std::move(begun), closed_loop_ ? now : time_of(load_.arrivals[number].at),
      [this, number](Outcome outcome, const std::string& detail) {
        on_outcome(number, std::move(outcome), detail);
      });
  under_way_.emplace(number, meter);
  client_.ask(std::move(meter));
}

void ServerLoad::on_outcome(std::size_t number, Outcome outcome, const std::string& detail) {
  under_way_.erase(number);
  ++progress_.ended;
  progress_.output += outcome.output;
  if (!outcome.error.empty()) {
    ++progress_.failed;
    if (words_.size() >= kKinds && !words_.contains(outcome.error)) outcome.error = kOthers;
    words_.try_emplace(outcome.error, detail);
  }
  outcomes_[number] = std::move(outcome);
  if (stopping_) return;
  if (progress_.ended == outcomes_.size()) return std::exchange(on_end_, nullptr)();
  if (!held_back_.empty() && may_send()) {
    const std::size_t next = held_back_.front();
    held_back_.pop_front();
    send(next);
  }
}

std::int64_t ServerLoad::output_so_far() const {
  std::int64_t tokens = progress_.output;
  for (const auto& [number, one] : under_way_) {
    if (const auto meter = one.lock()) tokens += static_cast<std::int64_t>(meter->pieces());
  }
  return tokens;
}

void ServerLoad::stop() {
  if (stopping_ || on_end_ == nullptr) return;
  stopping_ = true;
  timer_.cancel();
  const TimePoint now = steady_clock::now();
  const auto all = std::exchange(under_way_, {});
  for (const auto& [number, one] : all) {
    if (const auto meter = one.lock()) meter->fail(std::string(kStopped), {}, now);
  }
  client_.stop();
  std::exchange(on_end_, nullptr)();
}

}  // namespace weft::measure
