/* A program in C: it compiles the header as C11 does, runs a stepper and an engine, and hands over
   what is wrong. Usage: c_caller MODEL_FOLDER */

#include <stdio.h>
#include <string.h>

#include "weft/c_api/weft_c.h"

static int mistakes = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "c_caller: %s\n", what);
  ++mistakes;
}

static const char kRequest[] =
    "{\"prompt\": \"Once upon a time\", \"max_tokens\": 8, \"temperature\": 0, \"ignore_eos\": "
    "true}";

/* Appends the texts; returns 1 at the request's end. */
static int gather(const weft_event* events, size_t count, char* text, size_t room) {
  int ended = 0;
  for (size_t i = 0; i < count; ++i) {
    expect(!ended, "something came after the end");
    if (events[i].kind == WEFT_TEXT) strncat(text, events[i].text, room - strlen(text) - 1);
    if (events[i].kind != WEFT_END) continue;
    ended = 1;
    expect(events[i].error == NULL, "a request fails");
    expect(strcmp(events[i].finish, "length") == 0, "an output is not as long as was asked");
    expect(events[i].output_tokens == 8, "an output has other tokens");
  }
  return ended;
}

static void run_stepper(const char* config, char* text, size_t room) {
  weft_stepper* stepper = NULL;
  char* error = NULL;
  uint64_t id = 0;
  weft_status status = WEFT_OK;
  expect(weft_stepper_create(config, &stepper, &error) == WEFT_OK,
         error != NULL ? error : "create");
  expect(weft_stepper_idle(stepper) == 1, "a new stepper has something to do");
  expect(weft_stepper_add(stepper, kRequest, &id, &error) == WEFT_OK, "add");
  expect(id != 0, "no id");
  while (!weft_stepper_idle(stepper)) {
    const weft_event* events = NULL;
    size_t count = 0;
    if (weft_stepper_infer(stepper, &events, &count, NULL) != WEFT_OK) break;
    gather(events, count, text, room);
  }
  status = weft_stepper_add(stepper, "{\"prompt\": \"a\", \"temperature\": -1}", &id, &error);
  expect(status == WEFT_INVALID, "a bad request is added");
  expect(error != NULL && strstr(error, "temperature") != NULL, "the error names no field");
  weft_free(error);
  expect(weft_stepper_cancel(stepper, id) == WEFT_INVALID, "an ended request is cancelled");
  weft_stepper_free(stepper);
}

static void run_engine(const char* config, char* text, size_t room) {
  weft_engine* engine = NULL;
  weft_stream* stream = NULL;
  weft_status status = WEFT_OK;
  expect(weft_engine_create(config, &engine, NULL) == WEFT_OK, "create");
  expect(weft_engine_open(engine, kRequest, &stream, NULL) == WEFT_OK, "open");
  while (status == WEFT_OK) {
    const weft_event* events = NULL;
    size_t count = 0;
    status = weft_stream_next(stream, 60000, &events, &count, NULL);
    gather(events, count, text, room);
  }
  expect(status == WEFT_ENDED, "a stream does not end");
  weft_stream_free(stream);
  weft_engine_free(engine);
}

int main(int argc, char** argv) {
  char config[4096];
  char stepped[256] = "";
  char streamed[256] = "";
  if (argc != 2) return 2;
  snprintf(config, sizeof config,
           "[model]\npath = \"%s\"\n[device]\nthreads = 1\n"
           "[memory]\nmax_rows = 4\nmax_pages = 256\nmax_context = 1024\n",
           argv[1]);
  expect(weft_c_abi() == WEFT_C_ABI, "header and library are of different interfaces");
  run_stepper(config, stepped, sizeof stepped);
  run_engine(config, streamed, sizeof streamed);
  expect(strlen(stepped) > 0, "no text");
  expect(strcmp(stepped, streamed) == 0, "stepper and engine give different texts");
  return mistakes == 0 ? 0 : 1;
}
