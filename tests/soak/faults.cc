// A library for LD_PRELOAD that makes system calls of a program fail, by a seed. The seed, the kind
// of fault and the number of earlier calls of that kind decide which call fails, so a program that
// makes the same calls again gets the same faults.
//
// WEFT_FAULTS is a list such as "seed=7,alloc=5000,short=20": about one in this many calls fails.
//   alloc   malloc and similar functions return no memory
//   short   reads and writes take less than they could
//   eintr   a signal has interrupted reads, writes, accepts and waits
//   emfile  opening a file, a socket or a connection finds no descriptor left
//   enospc  a write to a file finds the disk full
//   clock   the wall clock jumps by up to a day, either way
// WEFT_FAULTS_COUNT is a file for two 64-bit numbers of each kind, in this order: calls, faults.
// Faults begin and end with main(), because code that runs before or after it can report nothing.

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

enum Kind : std::uint8_t { kAlloc, kShort, kEintr, kEmfile, kEnospc, kClock, kKinds };
constexpr std::array<const char*, kKinds> kNames = {"alloc",  "short",  "eintr",
                                                    "emfile", "enospc", "clock"};

struct Count {
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> faults;
};

// Constant-initialised: malloc is called before any constructor runs.
constinit std::array<Count, kKinds> own_counts{};
constinit Count* counts = own_counts.data();
constinit std::array<std::uint64_t, kKinds> one_in{};
constinit std::uint64_t seed = 0;
constinit std::atomic<bool> armed{false};

std::uint64_t mixed(std::uint64_t value) {  // splitmix64
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

std::uint64_t drawn(Kind kind, std::uint64_t call) {
  return mixed(mixed(seed * kKinds + kind) ^ call);
}

bool fails(Kind kind) {
  if (one_in[kind] == 0 || !armed.load(std::memory_order_relaxed)) return false;
  const std::uint64_t call = counts[kind].calls.fetch_add(1, std::memory_order_relaxed);
  if (drawn(kind, call) % one_in[kind] != 0) return false;
  counts[kind].faults.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool fails(Kind kind, int error) {
  if (!fails(kind)) return false;
  errno = error;
  return true;
}

mode_t type_of(int file) {
  struct stat status{};
  return ::fstat(file, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

/// Whether reads and writes of `file` may wait or take less: an eventfd's do neither, and no more
/// do the few bytes that a pipe between threads or from a signal's handler takes.
bool can_wait(int file) {
  if (one_in[kEintr] == 0 && one_in[kShort] == 0) return false;
  const mode_t type = type_of(file);
  return type == S_IFREG || type == S_IFSOCK || type == S_IFCHR;
}

bool interrupted(int file) { return can_wait(file) && fails(kEintr, EINTR); }

/// Returns how much of `size` a call is allowed to take.
std::size_t shortened(int file, std::size_t size) {
  if (size < 2 || !can_wait(file) || !fails(kShort)) return size;
  return 1 + drawn(kShort, size) % (size - 1);
}

bool disk_is_full(int file) {
  if (one_in[kEnospc] == 0 || file == STDERR_FILENO) return false;
  return type_of(file) == S_IFREG && fails(kEnospc, ENOSPC);
}

template <class Function>
Function* real(Function* /*type*/, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// The function of the C library that has the same name as the one around it.
#define REAL(name)                                  \
  (*[] {                                            \
    static const auto found = real(&::name, #name); \
    return found;                                   \
  }())

std::uint64_t number_of(const char* settings, const char* name) {
  const std::size_t length = std::strlen(name);
  for (const char* at = settings; at != nullptr && *at != '\0';) {
    if (std::strncmp(at, name, length) == 0 && at[length] == '=') {
      return std::strtoull(at + length + 1, nullptr, 10);
    }
    at = std::strchr(at, ',');
    if (at != nullptr) ++at;
  }
  return 0;
}

void share_counts(const char* path) {
  const int file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(own_counts)) != 0) std::abort();
  void* const shared =
      ::mmap(nullptr, sizeof(own_counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shared == MAP_FAILED) std::abort();
  counts = static_cast<Count*>(shared);
  ::close(file);
}

/// Says where an abort came from; addr2line knows the rest.
void show_trace(int number) {
  armed = false;
  std::array<void*, 64> frames{};
  ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), frames.size()), STDERR_FILENO);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

int (*program)(int, char**, char**) = nullptr;

int run_program(int count, char** arguments, char** environment) {
  const char* const settings = std::getenv("WEFT_FAULTS");
  if (settings == nullptr) return program(count, arguments, environment);
  seed = number_of(settings, "seed");
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    one_in[kind] = number_of(settings, kNames[kind]);
  }
  if (const char* const path = std::getenv("WEFT_FAULTS_COUNT")) share_counts(path);
  for (const int number : {SIGABRT, SIGSEGV}) std::signal(number, show_trace);
  armed = true;
  const int status = program(count, arguments, environment);
  armed = false;
  return status;
}

/// The wall clock's jump at this call, in seconds; it stays where it jumped to.
std::int64_t jump() {
  static std::atomic<std::int64_t> now{0};
  constexpr std::uint64_t kDay = 86400;
  if (fails(kClock)) {
    const auto distance = drawn(kClock, counts[kClock].faults) % (2 * kDay);
    now = static_cast<std::int64_t>(distance) - static_cast<std::int64_t>(kDay);
  }
  return now;
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int count, char** arguments, void (*init)(),
                      void (*fini)(), void (*loader_fini)(), void* stack_end) {
  using Start =
      int(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  program = main;
  auto* const start = reinterpret_cast<Start*>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(run_program, count, arguments, init, fini, loader_fini, stack_end);
}

void exit(int status) {
  armed = false;
  REAL(exit)(status);
  std::abort();  // it does not return
}

// --- memory
// ---------------------------------------------------------------------------------------

void* malloc(size_t size) { return fails(kAlloc, ENOMEM) ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) {
  return fails(kAlloc, ENOMEM) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  return size > 0 && fails(kAlloc, ENOMEM) ? nullptr : __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  return fails(kAlloc, ENOMEM) ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (fails(kAlloc)) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

// --- reads and writes
// -----------------------------------------------------------------------------

ssize_t read(int file, void* data, size_t size) {
  return interrupted(file) ? -1 : REAL(read)(file, data, shortened(file, size));
}
ssize_t pread(int file, void* data, size_t size, off_t at) {
  return interrupted(file) ? -1 : REAL(pread)(file, data, shortened(file, size), at);
}
ssize_t pread64(int file, void* data, size_t size, off64_t at) {
  return interrupted(file) ? -1 : REAL(pread64)(file, data, shortened(file, size), at);
}
ssize_t write(int file, const void* data, size_t size) {
  if (interrupted(file) || disk_is_full(file)) return -1;
  return REAL(write)(file, data, shortened(file, size));
}
ssize_t recv(int socket, void* data, size_t size, int flags) {
  return interrupted(socket) ? -1 : REAL(recv)(socket, data, shortened(socket, size), flags);
}
ssize_t send(int socket, const void* data, size_t size, int flags) {
  return interrupted(socket) ? -1 : REAL(send)(socket, data, shortened(socket, size), flags);
}

// A scattered read is shortened to a part of its first piece.
ssize_t readv(int file, const iovec* pieces, int count) {
  if (interrupted(file)) return -1;
  if (count < 1 || pieces[0].iov_len < 2 || !fails(kShort)) return REAL(readv)(file, pieces, count);
  const iovec part{pieces[0].iov_base, pieces[0].iov_len / 2};
  return REAL(readv)(file, &part, 1);
}
ssize_t writev(int file, const iovec* pieces, int count) {
  if (interrupted(file) || disk_is_full(file)) return -1;
  if (count < 1 || pieces[0].iov_len < 2 || !fails(kShort)) {
    return REAL(writev)(file, pieces, count);
  }
  const iovec part{pieces[0].iov_base, pieces[0].iov_len / 2};
  return REAL(writev)(file, &part, 1);
}
ssize_t recvmsg(int socket, msghdr* message, int flags) {
  if (interrupted(socket)) return -1;
  msghdr taken = *message;
  iovec part{};
  if (message->msg_iovlen > 0 && message->msg_iov[0].iov_len > 1 && fails(kShort)) {
    part = {message->msg_iov[0].iov_base, message->msg_iov[0].iov_len / 2};
    taken.msg_iov = &part;
    taken.msg_iovlen = 1;
  }
  const ssize_t got = REAL(recvmsg)(socket, &taken, flags);
  message->msg_namelen = taken.msg_namelen;
  message->msg_controllen = taken.msg_controllen;
  message->msg_flags = taken.msg_flags;
  return got;
}
ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  if (interrupted(socket)) return -1;
  msghdr given = *message;
  iovec part{};
  if (message->msg_iovlen > 0 && message->msg_iov[0].iov_len > 1 && fails(kShort)) {
    part = {message->msg_iov[0].iov_base, message->msg_iov[0].iov_len / 2};
    given.msg_iov = &part;
    given.msg_iovlen = 1;
  }
  return REAL(sendmsg)(socket, &given, flags);
}
int fdatasync(int file) { return disk_is_full(file) ? -1 : REAL(fdatasync)(file); }

// --- waiting
// --------------------------------------------------------------------------------------

int epoll_wait(int file, epoll_event* events, int count, int timeout) {
  return fails(kEintr, EINTR) ? -1 : REAL(epoll_wait)(file, events, count, timeout);
}
int poll(pollfd* files, nfds_t count, int timeout) {
  return fails(kEintr, EINTR) ? -1 : REAL(poll)(files, count, timeout);
}

// --- descriptors
// ----------------------------------------------------------------------------------

int accept(int socket, sockaddr* address, socklen_t* length) {
  if (fails(kEintr, EINTR) || fails(kEmfile, EMFILE)) return -1;
  return REAL(accept)(socket, address, length);
}
int accept4(int socket, sockaddr* address, socklen_t* length, int flags) {
  if (fails(kEintr, EINTR) || fails(kEmfile, EMFILE)) return -1;
  return REAL(accept4)(socket, address, length, flags);
}
int socket(int domain, int type, int protocol) {
  return fails(kEmfile, EMFILE) ? -1 : REAL(socket)(domain, type, protocol);
}
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return fails(kEmfile, EMFILE) ? -1 : REAL(open)(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return fails(kEmfile, EMFILE) ? -1 : REAL(open64)(path, flags, mode);
}
FILE* fopen(const char* path, const char* how) {
  return fails(kEmfile, EMFILE) ? nullptr : REAL(fopen)(path, how);
}
FILE* fopen64(const char* path, const char* how) {
  return fails(kEmfile, EMFILE) ? nullptr : REAL(fopen64)(path, how);
}

// --- the wall clock
// -------------------------------------------------------------------------------

int clock_gettime(clockid_t clock, timespec* now) {
  const int status = REAL(clock_gettime)(clock, now);
  if (status == 0 && clock == CLOCK_REALTIME && one_in[kClock] != 0) now->tv_sec += jump();
  return status;
}
time_t time(time_t* now) {
  timespec fine{};
  clock_gettime(CLOCK_REALTIME, &fine);
  if (now != nullptr) *now = fine.tv_sec;
  return fine.tv_sec;
}

}  // extern "C"
