#pragma once

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <memory>
#include <string>

#include "weft/jobs/fine_tuning.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/jobs/fake_trainer.h"
#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/served_pipeline.h"

namespace weft::test {

/// A server with a folder for fine-tuning, whose jobs train nothing.
class ServedTuning : public ServedPipeline {
 public:
  ServedTuning() { config.training_folder = (temp.path() / "training").string(); }
  ~ServedTuning() override {  // before the folder goes
    stop();
    tuning = nullptr;
  }

  void serve_tuning() {
    tuning = FineTuning::open(config, std::make_unique<FakeTrainer>(jobs)).value();
    serve_at_once = false;
    start();
    server->service().offer(*tuning);
    serve();
  }

  std::string ask(const std::string& method, const std::string& path, const std::string& body = {},
                  const std::string& header = {}) const {
    PlainClient one = client();
    one.say(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n" + header + "\r\n" + body);
    return one.read_answer();
  }
  /// Uploads a form whose boundary is "b".
  std::string upload(const std::string& form, const std::string& header = {}) const {
    return ask("POST", "/v1/files", form,
               "Content-Type: multipart/form-data; boundary=b\r\n" + header);
  }
  static std::string field(const std::string& name, const std::string& value) {
    return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
  }
  static std::string file(const std::string& content) {
    return "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.jsonl\"\r\n"
           "Content-Type: application/octet-stream\r\n\r\n" +
           content + "\r\n";
  }
  static std::string form(const std::string& content) {
    return field("purpose", "fine-tune") + file(content) + "--b--\r\n";
  }
  static boost::json::value body_of(const std::string& answer) {
    return boost::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }
  static std::string text_of(const boost::json::value& value) {
    return value.is_null() ? std::string("-") : std::string(value.as_string());
  }
  /// Returns "STATUS PARAM CODE" of a refusal.
  static std::string refusal(const std::string& answer) {
    const boost::json::value error = body_of(answer).at("error");
    return answer.substr(9, 3) + " " + text_of(error.at("param")) + " " + text_of(error.at("code"));
  }

  TempFolder temp;
  FakeJobs jobs;
  std::unique_ptr<FineTuning> tuning;
};

}  // namespace weft::test
