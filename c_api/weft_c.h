#pragma once

/// Weft for other languages: Engine and Stepper in C, by the shared library libweft_c.
///
/// Handles are opaque. The maker of a handle frees it, once, by the function of its name; a freed
/// handle cannot be recognised. NULL for a required argument is WEFT_INVALID, and freeing NULL does
/// nothing. No exception and no signal handler of the library's reaches the caller; the library
/// prints nothing and ends no process.
///
/// Texts go in as UTF-8 that ends with a zero byte. A function that can fail returns a weft_status.
/// Where its `error` is not NULL, *error becomes NULL, or says what was wrong, naming the field,
/// key or file; such a text is to be freed by weft_free().
///
/// A configuration is the text of a TOML file as docs/configuration.md has it; without a table
/// [model] that has a path there is nothing to serve. A request is the body of POST
/// /v1/chat/completions where it has "messages", else of POST /v1/completions with one prompt, as
/// docs/http-api.md has them: the same fields, defaults and bounds. What of it only concerns how an
/// answer is written (stream, stream_options, user, store) has no effect; echo and prompt_logprobs
/// are refused. A stepper has one model. A request of more than WEFT_MOST_REQUEST_BYTES is refused.

// A language without <stdint.h> of C++ reads this.
// NOLINTBEGIN(modernize-*, readability-identifier-naming, performance-enum-size)
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WEFT_C __attribute__((visibility("default")))
#else
#define WEFT_C
#endif

/// The number of this header's binary interface. It rises with every change of a struct, of a
/// number or of what a function does; compare it with weft_c_abi() of the library that was loaded.
#define WEFT_C_ABI 1

/// Bytes of a request's text at most, 64 MiB: eight times the greatest body of the HTTP service's
/// default.
#define WEFT_MOST_REQUEST_BYTES 67108864

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_status {
  WEFT_OK = 0,
  /// An argument is NULL, or its content is wrong: the configuration, a file of the model, or the
  /// request. Trying again does not help.
  WEFT_INVALID = 1,
  /// The number of unfinished requests, or of their prompt tokens, has reached the configured
  /// bound. Try later.
  WEFT_OVERLOADED = 2,
  /// The engine or stepper is ending, or its device is lost.
  WEFT_UNAVAILABLE = 3,
  /// An internal failure: no memory, a broken invariant, or a step that was lost.
  WEFT_FAILED = 4,
  /// Nothing came within the given time.
  WEFT_TIMEOUT = 5,
  /// The stream's WEFT_END was returned before; there is no more.
  WEFT_ENDED = 6
} weft_status;

typedef enum weft_event_kind {
  /// Pieces of an output in their order, with new `tokens`; a piece may be empty while a character
  /// is incomplete. A chat's output is divided as the format of its model's family says, into
  /// thoughts and calls of tools. A call is WEFT_CALL_ID (whole; only where the model gives calls
  /// an id), WEFT_CALL_NAME (whole), any number of WEFT_ARGUMENTS (JSON as the model wrote it) and
  /// WEFT_CALL_END (without text).
  WEFT_TEXT = 0,
  WEFT_REASONING = 1,
  WEFT_CALL_NAME = 2,
  WEFT_ARGUMENTS = 3,
  WEFT_CALL_END = 4,
  /// An output has ended: `finish` says how, `text` is the stop string that was hit.
  WEFT_OUTPUT_END = 5,
  /// The request has ended, after all its outputs: `finish` and `error` say how, and how many
  /// tokens there were. Nothing comes after it. Exactly one for each request.
  WEFT_END = 6,
  WEFT_CALL_ID = 7
} weft_event_kind;

typedef struct weft_logprob {
  int32_t token; /* -1: the samplers left no more */
  float logprob;
} weft_logprob;

/// Something that a request produced. Its pointers point to the library's memory, which lasts until
/// the next call for the same stepper or stream, or its end.
typedef struct weft_event {
  uint64_t request; /* of a stepper: the id; of a stream: 0 */
  int32_t kind;     /* a weft_event_kind */
  int32_t output;   /* which output, 0 .. n-1; of WEFT_END 0 */
  const char* text; /* UTF-8 with a zero byte behind it; never NULL */
  size_t text_bytes;
  const int32_t* tokens; /* new since the output's last event that had some */
  size_t token_count;
  const float* logprobs;   /* of the tokens; NULL unless the request asks for them */
  const weft_logprob* top; /* top_per_token for each token, most probable first */
  int32_t top_per_token;
  int32_t prompt_tokens; /* these four are WEFT_END's, and 0 in all others */
  int32_t output_tokens; /* of all outputs */
  int32_t cached_tokens; /* of the prompt, found in the KV cache */
  int32_t reasoning_tokens;
  const char* finish; /* "stop", "length", "cancelled" or "error"; NULL while it goes on */
  const char* error;  /* of WEFT_END, with "error" and "cancelled": why; else NULL */
} weft_event;

/// Returns WEFT_C_ABI of the library. Thread-safe.
WEFT_C uint32_t weft_c_abi(void);
/// Returns the library's version, "0.1.0". The text is constant. Thread-safe.
WEFT_C const char* weft_version(void);
/// Frees the text of an error; NULL is allowed. Thread-safe.
WEFT_C void weft_free(char* text);

/// A model whose loop the caller runs: weft::Stepper (actors/stepper/stepper.h). One thread at a
/// time; different steppers are independent.
typedef struct weft_stepper weft_stepper;

/// Loads a model, and blocks meanwhile. WEFT_INVALID for the configuration, the model's files, and
/// a model that needs several devices; WEFT_FAILED. *stepper is NULL then.
WEFT_C weft_status weft_stepper_create(const char* config, weft_stepper** stepper, char** error);
/// Drops all requests, and the model.
WEFT_C void weft_stepper_free(weft_stepper* stepper);
/// Begins a request and gives its id, which names no other while the stepper lives. Errors, after
/// which nothing has begun: all but WEFT_TIMEOUT and WEFT_ENDED.
WEFT_C weft_status weft_stepper_add(weft_stepper* stepper, const char* request, uint64_t* id,
                                    char** error);
/// Gives a name the adapter of a path, for requests whose "model" is that name, and blocks
/// meanwhile. `replaces` not 0: the name may have one, which requests keep that have begun.
/// WEFT_INVALID says why not, also for a model that takes none (adapters.places).
WEFT_C weft_status weft_stepper_load_adapter(weft_stepper* stepper, const char* name,
                                             const char* path, int replaces, char** error);
/// Removes an adapter's name. WEFT_INVALID where it has none.
WEFT_C weft_status weft_stepper_unload_adapter(weft_stepper* stepper, const char* name,
                                               char** error);
/// Drops a request; its WEFT_END is in the next step. WEFT_INVALID where no running request has the
/// id, or it was dropped before.
WEFT_C weft_status weft_stepper_cancel(weft_stepper* stepper, uint64_t id);
/// Runs one step and gives its events; count may be 0. A step that failed is reported by the
/// WEFT_END of its requests, and not as an error of this call. WEFT_FAILED without memory.
WEFT_C weft_status weft_stepper_infer(weft_stepper* stepper, const weft_event** events,
                                      size_t* count, char** error);
/// Runs a step like weft_stepper_infer(), which should take at most budget_us microseconds: prompts
/// are cut to fit (Stepper::infer() with a deadline). Below 0 there is no budget.
WEFT_C weft_status weft_stepper_infer_within(weft_stepper* stepper, int64_t budget_us,
                                             const weft_event** events, size_t* count,
                                             char** error);
/// Returns 1 when every request has ended and its end was given, else 0; for NULL returns 1.
WEFT_C int32_t weft_stepper_idle(const weft_stepper* stepper);

/// A model that computes on threads of its own while the caller does other things: weft::Engine
/// (actors/engine/engine.h), with one more thread of this library's. Thread-safe but for
/// weft_engine_free().
typedef struct weft_engine weft_engine;
/// The output of one request of an engine. One thread at a time, except that any thread may call
/// weft_stream_cancel() until weft_stream_free(). A stream may outlive its engine; the engine's end
/// ends it. Output that is not taken is kept; max_tokens bounds it.
typedef struct weft_stream weft_stream;

/// Loads a model, or the models of [[models]], and blocks meanwhile. A request's "model" names one
/// of several models, or an adapter; without a name it gets the first model. A model that cannot be
/// loaded is left out, as long as another one loads. The errors are those of weft_stepper_create(),
/// except that an engine may have several devices.
WEFT_C weft_status weft_engine_create(const char* config, weft_engine** engine, char** error);
/// Ends all requests and threads before it returns.
WEFT_C void weft_engine_free(weft_engine* engine);
/// As weft_stepper_load_adapter(), for one of several models, which is loaded; NULL: the first.
/// Thread-safe.
WEFT_C weft_status weft_engine_load_adapter(weft_engine* engine, const char* model,
                                            const char* name, const char* path, int replaces,
                                            char** error);
/// As weft_stepper_unload_adapter(); likewise.
WEFT_C weft_status weft_engine_unload_adapter(weft_engine* engine, const char* model,
                                              const char* name, char** error);
/// Begins a request. Blocks until the request is tokenized and there is room for it. With several
/// models it also blocks until the request's model is loaded, where requests load models
/// (server.max_loaded_models); elsewhere a model that is not loaded is WEFT_UNAVAILABLE. Errors:
/// all but WEFT_TIMEOUT and WEFT_ENDED; *stream is NULL then.
WEFT_C weft_status weft_engine_open(weft_engine* engine, const char* request, weft_stream** stream,
                                    char** error);
/// Waits until there is new output, at most `timeout_ms` milliseconds (below 0: for ever), and
/// gives it. Errors: WEFT_TIMEOUT, WEFT_ENDED, and WEFT_FAILED without memory, after which it can
/// be called again. A failed request is reported by its WEFT_END, not as an error of this call.
WEFT_C weft_status weft_stream_next(weft_stream* stream, int64_t timeout_ms,
                                    const weft_event** events, size_t* count, char** error);
/// Drops the request and the output that was not taken; its WEFT_END still comes.
WEFT_C weft_status weft_stream_cancel(weft_stream* stream);
/// Drops the request.
WEFT_C void weft_stream_free(weft_stream* stream);

/// An embedding.
typedef struct weft_vector {
  const float* numbers; /* the vector's memory */
  size_t count;
  int32_t prompt_tokens;
} weft_vector;

/// Computes the embedding of one input, and blocks meanwhile. The engine computes the inputs of
/// several threads together. `request` is a body of POST /v1/embeddings; encoding_format, which
/// says how the answer is written, has no effect. Errors: all but WEFT_TIMEOUT and WEFT_ENDED;
/// *vector is NULL then. Else the caller frees it by weft_vector_free(). Thread-safe.
WEFT_C weft_status weft_engine_embed(weft_engine* engine, const char* request,
                                     const weft_vector** vector, char** error);
/// NULL is allowed. Thread-safe.
WEFT_C void weft_vector_free(const weft_vector* vector);

#ifdef __cplusplus
}
#endif
// NOLINTEND(modernize-*, readability-identifier-naming, performance-enum-size)
