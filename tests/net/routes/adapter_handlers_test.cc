// The calls that load, unload and list adapters, over sockets.

#include "weft/net/routes/adapter_handlers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/tests/actors/adapters/fake_adapters.h"
#include "weft/tests/fixture/temp_folder.h"
#include "weft/tests/net/server/plain_client.h"
#include "weft/tests/net/server/served_pipeline.h"

namespace weft::test {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kLoad = "/v1/load_lora_adapter";
constexpr const char* kUnload = "/v1/unload_lora_adapter";
constexpr const char* kList = "/lora-adapters";

class AdapterHandlersTest : public ServedPipeline {
 public:
  AdapterHandlersTest() {
    for (const char* name : {"sql", "poet", "bad"}) files.folder.write(name, name);
    limits.adapter_places = 2;
    limits.adapter_rank = 16;
    adapters = std::make_shared<AdapterRegistry>(files.options());
  }
  ~AdapterHandlersTest() override { stop(); }  // before the files go

  /// Returns the answer to a call from this machine.
  std::string ask(const std::string& method, const std::string& path, const std::string& body = {},
                  const std::string& header = {}) const {
    PlainClient one = client();
    one.say(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n" + header + "\r\n" + body);
    return one.read_answer();
  }
  std::string post(const std::string& path, const std::string& body,
                   const std::string& header = {}) const {
    return ask("POST", path, body, header);
  }
  /// Returns "STATUS PARAM CODE" of a refusal.
  std::string refusal(const std::string& path, const std::string& body) const {
    const std::string answer = post(path, body);
    const json::value error = body_of(answer).at("error");
    const auto text_of = [&](const char* field) {
      const json::value& value = error.at(field);
      return value.is_null() ? std::string("-") : std::string(value.as_string());
    };
    return answer.substr(9, 3) + " " + text_of("param") + " " + text_of("code");
  }
  static json::value body_of(const std::string& answer) {
    return json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }

  FakeAdapters files;
};

TEST_F(AdapterHandlersTest, LoadsReplacesAndUnloadsInVllmsWords) {
  start();
  const std::string loaded =
      post(kLoad, R"({"lora_name":"mine","lora_path":"sql","lora_int_id":null})");
  EXPECT_THAT(loaded, AllOf(StartsWith("HTTP/1.1 200"),
                            HasSubstr("Success: LoRA adapter 'mine' added successfully.")));
  EXPECT_THAT(ask("GET", "/v1/models"), HasSubstr(R"("id":"mine")"));
  EXPECT_EQ(refusal(kLoad, R"({"lora_name":"mine","lora_path":"poet"})"),
            "400 lora_name adapter_loaded");
  EXPECT_THAT(post(kLoad, R"({"lora_name":"mine","lora_path":"poet","load_inplace":true})"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(adapters->list().front().id, FakeAdapters::id_of("poet"));
  EXPECT_THAT(post(kLoad, R"({"lora_name":"sql"})"), StartsWith("HTTP/1.1 200"))
      << "its place in the folder has its name";
  EXPECT_THAT(post(kUnload, R"({"lora_name":"mine","lora_int_id":3})"),
              AllOf(StartsWith("HTTP/1.1 200"),
                    HasSubstr("Success: LoRA adapter 'mine' removed successfully.")));
  EXPECT_EQ(refusal(kUnload, R"({"lora_name":"mine"})"), "404 lora_name model_not_found");
}

TEST_F(AdapterHandlersTest, NamesTheFieldOfTheBodyThatIsWrong) {
  start();
  for (const auto& [body, expected] :
       {std::pair(R"({"lora_name":"x","lora_path":"bad"})", "400 lora_path adapter_failed"),
        {R"({"lora_name":"x"})", "400 lora_name adapter_failed"},
        {R"({"lora_name":"bad"})", "400 lora_name adapter_failed"},
        {R"({"lora_name":"../x","lora_path":"sql"})", "400 lora_name invalid_value"},
        {R"({"lora_name":"","lora_path":"sql"})", "400 lora_name invalid_value"},
        {R"({"lora_name":"x","lora_path":"/etc"})", "400 lora_path invalid_value"},
        {R"({"lora_path":"sql"})", "400 lora_name missing_required_parameter"},
        {R"({"lora_name":7})", "400 lora_name invalid_type"},
        {R"({"lora_name":"x","lora_path":7})", "400 lora_path invalid_type"},
        {R"({"lora_name":"x","load_inplace":"yes"})", "400 load_inplace invalid_type"},
        {R"({"lora_name":"x","rank":7})", "400 rank unknown_parameter"},
        {R"({"lora_name")", "400 - invalid_json"},
        {"", "400 - invalid_json"}}) {
    EXPECT_EQ(refusal(kLoad, body), expected) << body;
  }
  EXPECT_THAT(post(kLoad, R"({"lora_name":"x","lora_path":"bad"})"),
              AllOf(HasSubstr("is bad"), Not(HasSubstr("Retry-After"))));
  EXPECT_EQ(refusal(kUnload, R"({"lora_name":"x","lora_path":"sql"})"),
            "400 lora_path unknown_parameter");
  EXPECT_TRUE(adapters->list().empty());
}

/// A form with the two files of an adapter, and with further fields.
std::string form_of(const std::string& letters, const std::string& fields) {
  const auto part = [](const std::string& disposition, const std::string& content) {
    return "--b\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + content + "\r\n";
  };
  std::string form = part(R"(name="file"; filename="adapter_config.json")", "{}") +
                     part(R"(name="file"; filename="adapter_model.safetensors")", letters);
  for (std::size_t at = 0; at < fields.size();) {
    const std::size_t end = std::min(fields.find('&', at), fields.size());
    const std::size_t equals = fields.find('=', at);
    form += part("name=\"" + fields.substr(at, equals - at) + "\"",
                 fields.substr(equals + 1, end - equals - 1));
    at = end + 1;
  }
  return form + "--b--\r\n";
}

class AdapterUploadHandlersTest : public AdapterHandlersTest {
 public:
  AdapterUploadHandlersTest() {
    AdapterRegistry::Options options = files.options();
    options.upload_bytes = 1000;
    adapters = std::make_shared<AdapterRegistry>(std::move(options));
  }
  std::string upload(const std::string& letters, const std::string& fields) const {
    return post(kLoad, form_of(letters, fields),
                "Content-Type: multipart/form-data; boundary=b\r\n");
  }
};

TEST_F(AdapterUploadHandlersTest, TakesTheFilesOfAnAdapterReplacesAndRemovesThem) {
  start();
  EXPECT_THAT(upload("mine", "lora_name=mine"),
              AllOf(StartsWith("HTTP/1.1 200"),
                    HasSubstr("Success: LoRA adapter 'mine' added successfully.")));
  EXPECT_EQ(adapters->list().front().id, FakeAdapters::id_of("mine"));
  EXPECT_THAT(upload("next", "lora_name=mine"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("adapter_loaded")));
  EXPECT_THAT(upload("next", "lora_name=mine&load_inplace=true"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(adapters->list().front().id, FakeAdapters::id_of("next"));
  EXPECT_THAT(post(kUnload, R"({"lora_name":"mine","delete_files":true})"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_FALSE(std::filesystem::exists(files.folder.path() / "mine"));
  EXPECT_EQ(refusal(kUnload, R"({"lora_name":"mine","delete_files":true})"),
            "404 lora_name model_not_found");
}

TEST_F(AdapterUploadHandlersTest, NameTheFieldOfAFormThatIsWrong) {
  start();
  for (const auto& [fields, param, code] :
       {std::tuple("lora_name=", "lora_name", "missing_required_parameter"),
        {"model=x", "lora_name", "missing_required_parameter"},
        {"lora_name=a&lora_name=b", "lora_name", "duplicate_parameter"},
        {"lora_name=../x", "lora_name", "invalid_value"},
        {"lora_name=x&load_inplace=1", "load_inplace", "invalid_type"},
        {"lora_name=x&lora_path=sql", "lora_path", "unknown_parameter"},
        {"lora_name=x&file=text", "file", "invalid_value"}}) {
    const json::value error = body_of(upload("a", fields)).at("error");
    EXPECT_EQ(error.at("param").as_string(), param) << fields;
    EXPECT_EQ(error.at("code").as_string(), code) << fields;
  }
  EXPECT_THAT(
      upload("bad", "lora_name=x"),
      AllOf(StartsWith("HTTP/1.1 400"), HasSubstr(R"("param":"file")"), HasSubstr("is bad")));
  EXPECT_THAT(upload(std::string(1000, 'a'), "lora_name=x"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr(R"("param":"file")"),
                    HasSubstr("adapters.upload_bytes")));
  EXPECT_TRUE(adapters->list().empty());
}

TEST_F(AdapterHandlersTest, RefusesUploadsWhereTheyAreNotConfigured) {
  start();
  EXPECT_THAT(
      post(kLoad, form_of("a", "lora_name=x"), "Content-Type: multipart/form-data; boundary=b\r\n"),
      AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("adapters.upload_bytes is 0")));
  EXPECT_EQ(refusal(kUnload, R"({"lora_name":"sql","delete_files":true})"),
            "400 delete_files invalid_value");
}

TEST_F(AdapterHandlersTest, ABrokenAdapterGivesItsRequestsNoReasonAndNoTimeToComeAgain) {
  start();
  const std::string answer = post("/v1/completions", R"({"model":"bad","prompt":"a"})");
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 500"), HasSubstr("adapter_failed"),
                            Not(HasSubstr("is bad")), Not(HasSubstr("Retry-After"))));
}

TEST_F(AdapterHandlersTest, ARequestIsToldToComeAgainWhileOthersHaveAllTheMemory) {
  AdapterRegistry::Options options = files.options();
  options.host_bytes = 10;
  adapters = std::make_shared<AdapterRegistry>(std::move(options));
  const auto held = adapters->prepare("poet");
  start();
  const std::string answer = post("/v1/completions", R"({"model":"sql","prompt":"a"})");
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("Retry-After")));
  EXPECT_EQ(refusal(kLoad, R"({"lora_name":"sql"})"), "429 - overloaded");
}

TEST_F(AdapterHandlersTest, ListsAndSetsAdaptersByLlamaCppsIds) {
  start();
  EXPECT_EQ(body_of(ask("GET", kList)), json::array());
  for (const char* name : {"sql", "poet"}) {
    ASSERT_THAT(post(kLoad, R"({"lora_name":")" + std::string(name) + "\"}"),
                StartsWith("HTTP/1.1 200"));
  }
  EXPECT_EQ(body_of(post(kList, R"([{"id":1,"scale":1}])")), json::parse(R"({"success":true})"));
  EXPECT_EQ(body_of(ask("GET", kList)), json::parse(R"([{"id": 0, "path": "sql", "scale": 0},
                            {"id": 1, "path": "poet", "scale": 1}])"));
  ASSERT_THAT(post(kUnload, R"({"lora_name":"sql"})"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(body_of(ask("GET", kList)), json::parse(R"([{"id": 1, "path": "poet", "scale": 1}])"));
  EXPECT_EQ(refusal(kList, R"([{"id":0,"scale":1}])"), "400 lora[0].id invalid_value");
  EXPECT_EQ(refusal(kList, R"([{"id":1,"scale":2}])"), "400 lora[0].scale unsupported");
  EXPECT_EQ(refusal(kList, "{}"), "400 lora invalid_type");
  EXPECT_EQ(adapters->standard(), "poet");
  ASSERT_THAT(post(kUnload, R"({"lora_name":"poet"})"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(adapters->standard(), "");
}

TEST_F(AdapterHandlersTest, AnUnloadedNameOfTheFolderIsNotServedUntilItIsLoadedAgain) {
  start();
  const std::string request = R"({"model":"sql","prompt":"a","max_tokens":1})";
  EXPECT_THAT(post("/v1/completions", request), StartsWith("HTTP/1.1 200"));
  ASSERT_THAT(post(kUnload, R"({"lora_name":"sql"})"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(post("/v1/completions", request), StartsWith("HTTP/1.1 404"));
  ASSERT_THAT(post(kLoad, R"({"lora_name":"sql"})"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(post("/v1/completions", request), StartsWith("HTTP/1.1 200"));
}

TEST_F(AdapterHandlersTest, OnlyAnAdminsKeyChangesAdapters) {
  const TempFolder folder;
  server_config.api_key_file = folder
                                   .write("keys.toml",
                                          "[[key]]\nname = 'user'\nkey = 'user'\n"
                                          "[[key]]\nname = 'admin'\nkey = 'admin'\nadmin = true\n")
                                   .string();
  start();
  const std::string load = R"({"lora_name":"sql"})";
  for (const char* path : {kLoad, kUnload, kList}) {
    EXPECT_THAT(post(path, load, "X-Api-Key: user\r\n"),
                AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("not_an_admin"),
                      HasSubstr("models and adapters")))
        << path;
    EXPECT_THAT(post(path, load), StartsWith("HTTP/1.1 401")) << path;
  }
  EXPECT_TRUE(adapters->list().empty());
  EXPECT_THAT(post(kLoad, load, "X-Api-Key: admin\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("GET", kList, {}, "X-Api-Key: user\r\n"), HasSubstr("sql"));
}

TEST_F(AdapterHandlersTest, WithoutKeysNoProxyOrBrowserChangesAdapters) {
  start();
  EXPECT_THAT(post(kLoad, R"({"lora_name":"sql"})", "X-Forwarded-For: 192.0.2.1\r\n"),
              AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("models and adapters")));
  EXPECT_TRUE(adapters->list().empty());
}

class NoAdaptersHandlersTest : public AdapterHandlersTest {};

TEST_F(NoAdaptersHandlersTest, AModelWithoutAdaptersListsNoneAndTakesNone) {
  adapters = nullptr;
  limits.adapter_places = 0;
  start();
  EXPECT_EQ(body_of(ask("GET", kList)), json::array());
  EXPECT_EQ(refusal(kLoad, R"({"lora_name":"sql"})"), "404 lora_name model_not_found");
  EXPECT_THAT(post(kLoad, R"({"lora_name":"sql"})"), HasSubstr("adapters.places is 0"));
  EXPECT_EQ(refusal(kList, R"([{"id":0,"scale":1}])"), "400 lora[0].id invalid_value");
}

}  // namespace
}  // namespace weft::test
