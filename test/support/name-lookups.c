/*
 * Preloaded, it writes down what a process asks the network for: the names it looks up and the
 * addresses beyond this machine that it connects or sends to. A line each, in the file LOOKUPS_FILE.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void note(const char *what, const char *name) {
  const char *path = getenv("LOOKUPS_FILE");
  if (path == NULL) return;
  char line[512];
  int length = snprintf(line, sizeof line, "%s %s\n", what, name);
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file == -1 || write(file, line, (size_t)length) != length) abort();
  close(file);
}

static void note_address(const char *what, const struct sockaddr *address) {
  char text[INET6_ADDRSTRLEN];
  if (address == NULL) return;
  if (address->sa_family == AF_INET) {
    const struct in_addr *ip = &((const struct sockaddr_in *)address)->sin_addr;
    if (ntohl(ip->s_addr) >> 24 == 127) return;
    note(what, inet_ntop(AF_INET, ip, text, sizeof text));
  } else if (address->sa_family == AF_INET6) {
    const struct in6_addr *ip = &((const struct sockaddr_in6 *)address)->sin6_addr;
    if (IN6_IS_ADDR_LOOPBACK(ip)) return;
    note(what, inet_ntop(AF_INET6, ip, text, sizeof text));
  }
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **result) {
  int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
      dlsym(RTLD_NEXT, "getaddrinfo");
  if (node != NULL) note("lookup", node);
  return next(node, service, hints, result);
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
  int (*next)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
  note_address("connect", address);
  return next(socket, address, length);
}

ssize_t sendto(int socket, const void *data, size_t size, int flags, const struct sockaddr *address,
               socklen_t length) {
  ssize_t (*next)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) =
      dlsym(RTLD_NEXT, "sendto");
  note_address("send", address);
  return next(socket, data, size, flags, address, length);
}
